// Queues that are referred to by name or by ARN.

#include "producer/fixture.hpp"

#include <boost/system/system_error.hpp>

using namespace quern;
using namespace quern::test;

BOOST_FIXTURE_TEST_SUITE(producing_by_name, workshop)

BOOST_AUTO_TEST_CASE(a_queue_is_found_by_its_name_or_its_arn)
{
    auto const known = url;
    for (std::string const reference : {"letters", "arn:aws:sqs:us-east-1:000000000000:letters"}) {
        it.reset();
        url = reference;
        produce();
        send("first of " + reference);
        BOOST_TEST(until_sent(results.size() + 1));
        send("second of " + reference);
        BOOST_TEST(until_sent(results.size() + 1));
    }
    url = known;
    BOOST_TEST(confirmed() == 4u);
    BOOST_TEST(take_all().size() == 4u);
    BOOST_TEST(api.looked_for == 2);
}

BOOST_AUTO_TEST_CASE(a_look_up_that_fails_is_tried_again)
{
    url = "letters";
    int failures = 3;
    api.before = [&]() -> std::optional<failure> {
        if (failures-- > 0) return failure(errc::timed_out, "no answer", true);
        return {};
    };
    produce();
    send("hello");
    BOOST_TEST(until_sent(1));
    BOOST_TEST(confirmed() == 1u);
    BOOST_TEST(api.looked_for == 4);
}

BOOST_AUTO_TEST_CASE(what_is_no_queue_is_refused_and_so_is_one_of_another_region)
{
    for (auto const& [reference, told] : {std::pair("the letters", "queue_url"),
             std::pair("arn:aws:sqs:eu-west-1:000000000000:letters", "eu-west-1")}) {
        url = reference;
        BOOST_CHECK_EXCEPTION(produce(), boost::system::system_error,
            [told = told](auto const& e) { return std::string(e.what()).find(told) != std::string::npos; });
    }
}

BOOST_AUTO_TEST_SUITE_END()
