#include <quern/net/detail/connect_race.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::net;
using namespace quern::net::detail;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

tcp_addresses addresses(std::initializer_list<char const*> texts)
{
    tcp_addresses out;
    for (auto const* const text : texts)
        out.emplace_back(asio::ip::make_address(text), 443);
    return out;
}

/// The address that the plan tries next, as a letter: '.' for none.
std::string tried(connect_plan& plan, tick now)
{
    auto const next = plan.due(now);
    return next ? std::string(1, static_cast<char>('a' + *next)) : ".";
}

tick const t0{};

} // namespace

BOOST_AUTO_TEST_SUITE(connecting)

BOOST_AUTO_TEST_CASE(families_take_turns_beginning_with_the_first)
{
    BOOST_TEST(interleaved(addresses({"::1", "::2", "::3", "10.0.0.1", "10.0.0.2"})) ==
        addresses({"::1", "10.0.0.1", "::2", "10.0.0.2", "::3"}));
    BOOST_TEST(
        (interleaved(addresses({"10.0.0.1", "10.0.0.2", "::1"})) == addresses({"10.0.0.1", "::1", "10.0.0.2"})));
    BOOST_TEST(interleaved(addresses({"10.0.0.1", "10.0.0.2"})) == addresses({"10.0.0.1", "10.0.0.2"}));
    BOOST_TEST(interleaved({}).empty());
}

BOOST_AUTO_TEST_CASE(a_silent_address_is_given_250_ms_before_the_next_one_is_tried_beside_it)
{
    connect_plan plan(3, t0, t0 + 3s);
    BOOST_TEST(tried(plan, t0) == "a");
    BOOST_TEST(tried(plan, t0 + 249ms) == ".");
    BOOST_TEST(plan.due_at() == t0 + 250ms);
    BOOST_TEST(tried(plan, t0 + 250ms) == "b");
    BOOST_TEST(tried(plan, t0 + 500ms) == "c");
    BOOST_TEST(tried(plan, t0 + 5s) == ".");
    BOOST_TEST(plan.due_at() == tick::max());
}

BOOST_AUTO_TEST_CASE(after_a_failure_the_next_one_is_due_at_once)
{
    connect_plan plan(3, t0, t0 + 3s);
    BOOST_TEST(tried(plan, t0) == "a");
    plan.failed();
    BOOST_TEST(tried(plan, t0 + 1ms) == "b");
    BOOST_TEST(tried(plan, t0 + 2ms) == ".");
    plan.failed();
    BOOST_TEST(!plan.all_failed());
    BOOST_TEST(tried(plan, t0 + 2ms) == "c");
    plan.failed();
    BOOST_TEST(plan.all_failed());
}

BOOST_AUTO_TEST_CASE(all_addresses_get_their_turn_before_a_near_deadline)
{
    connect_plan plan(4, t0, t0 + 400ms);
    std::string order;
    for (auto at = t0; at < t0 + 400ms; at += 100ms)
        order += tried(plan, at);
    BOOST_TEST(order == "abcd");

    connect_plan late(2, t0, t0 - 1s); // the look-up took all the time there was
    BOOST_TEST(tried(late, t0) == "a");
    BOOST_TEST(tried(late, t0) == "b");
}

BOOST_AUTO_TEST_CASE(without_addresses_it_has_failed_already)
{
    connect_plan plan(0, t0, t0 + 1s);
    BOOST_TEST(plan.all_failed());
    BOOST_TEST(tried(plan, t0) == ".");
}

BOOST_AUTO_TEST_SUITE_END()
