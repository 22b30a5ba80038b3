#include <quern/sqs/detail/lane_ledger.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>

using namespace quern;

namespace {

struct sixty_four {
    std::shared_ptr<sqs::detail::lane_ledger> ledger =
        std::make_shared<sqs::detail::lane_ledger>(sqs::lane_places{64, 16});

    void free_is(std::size_t data, std::size_t control)
    {
        BOOST_TEST(ledger->free().data == data);
        BOOST_TEST(ledger->free().control == control);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(lane_claims, sixty_four)

BOOST_AUTO_TEST_CASE(what_is_claimed_is_not_free_until_the_last_copy_is_gone)
{
    std::optional<sqs::lane_claim> first = ledger->claim({16, 8});
    BOOST_TEST(!first->refused.has_value());
    free_is(48, 8);
    auto copy = first;
    first.reset();
    free_is(48, 8);
    copy.reset();
    free_is(64, 16);
}

BOOST_AUTO_TEST_CASE(a_claim_that_one_lane_cannot_meet_takes_nothing_and_says_what_is_free)
{
    auto const most = ledger->claim({61, 1});
    auto const second = ledger->claim({16, 2});
    BOOST_REQUIRE(second.refused.has_value());
    BOOST_TEST(second.refused->data == 3u);
    BOOST_TEST(second.refused->control == 15u);
    BOOST_TEST(!second.places);
    free_is(3, 15);
    BOOST_TEST(ledger->claim({1, 16}).refused.has_value());
    BOOST_TEST(!ledger->claim({3, 15}).refused.has_value()); // all that is left
}

BOOST_AUTO_TEST_CASE(a_claim_may_outlive_the_client)
{
    auto const one = ledger->claim({1, 1});
    ledger.reset();
    BOOST_TEST(!one.refused.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
