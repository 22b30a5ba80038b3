#include <quern/consumer/options.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace std::chrono_literals;

namespace {

/// The name of the option that is refused once `change` has been made to the defaults.
template <class Change>
std::string refused(Change change)
{
    consumer_options options;
    change(options);
    auto const wrong = options.validate();
    return wrong ? wrong->message.substr(0, wrong->message.find(' ')) : "";
}

} // namespace

BOOST_AUTO_TEST_SUITE(options)

BOOST_AUTO_TEST_CASE(the_defaults_are_valid)
{
    BOOST_TEST(refused([](consumer_options&) {}) == "");
}

BOOST_AUTO_TEST_CASE(what_cannot_work_is_refused_by_its_name)
{
    BOOST_TEST(refused([](auto& o) { o.max_in_flight = 0; }) == "max_in_flight");
    BOOST_TEST(refused([](auto& o) { o.max_in_flight = 120'001; }) == "max_in_flight");
    BOOST_TEST(refused([](auto& o) { o.max_polls = 0; }) == "max_polls");
    BOOST_TEST(refused([](auto& o) { o.wait_time = 21s; }) == "wait_time");
    BOOST_TEST(refused([](auto& o) { o.wait_time = -1s; }) == "wait_time");
    BOOST_TEST(refused([](auto& o) { o.visibility_timeout = 2s; }) == "visibility_timeout");
    BOOST_TEST(refused([](auto& o) { o.visibility_timeout = 12h + 1s; }) == "visibility_timeout");
    BOOST_TEST(refused([](auto& o) { o.settle_linger = -1ms; }) == "settle_linger");
    BOOST_TEST(refused([](auto& o) { o.settle_linger = 11s; }) == "settle_linger");
    BOOST_TEST(refused([](auto& o) { o.max_settle_calls = 0; }) == "max_settle_calls");
    BOOST_TEST(refused([](auto& o) { o.drain_deadline = 999ms; }) == "drain_deadline");
    BOOST_TEST(refused([](auto& o) { o.backoff = policy::backoff::exponential(-1ms); }) == "backoff.base");
    BOOST_TEST(refused([](auto& o) { o.backoff = policy::backoff::exponential(1s, 2.0, 1ms); }) == "backoff.cap");
    BOOST_TEST(refused([](auto& o) { o.backoff = policy::backoff::exponential(1s, 0.5); }) == "backoff.factor");
}

BOOST_AUTO_TEST_SUITE_END()
