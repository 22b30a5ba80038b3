#include <quern/producer/options.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>

using namespace quern;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(producer_settings)

BOOST_AUTO_TEST_CASE(the_defaults_are_valid_for_both_kinds_of_queue)
{
    BOOST_TEST(!producer_options().validate(false));
    BOOST_TEST(!producer_options().validate(true));
}

BOOST_AUTO_TEST_CASE(what_cannot_work_is_refused_by_name)
{
    struct {
        std::function<void(producer_options&)> spoil;
        std::string name;
        bool fifo = false;
    } const cases[] = {
        {[](auto& o) { o.max_buffered = 0; }, "max_buffered "},
        {[](auto& o) { o.max_buffered_bytes = 0; }, "max_buffered_bytes"},
        {[](auto& o) { o.linger = -1ms; }, "linger"},
        {[](auto& o) { o.linger = 2min; }, "linger"},
        {[](auto& o) { o.max_calls = 0; }, "max_calls"},
        {[](auto& o) { o.give_up_after = o.linger = 0ms; }, "give_up_after"},
        {[](auto& o) { o.give_up_after = 25h; }, "give_up_after"},
        {[](auto& o) { o.give_up_after = 5min; }, "give_up_after", true},
        {[](auto& o) { o.max_attempts = -1; }, "max_attempts"},
        {[](auto& o) { o.backoff = policy::backoff::exponential(std::chrono::seconds(1), 0.5); }, "backoff.factor"},
    };
    for (auto const& each : cases) {
        producer_options options;
        each.spoil(options);
        auto const wrong = options.validate(each.fifo);
        BOOST_REQUIRE(wrong.has_value());
        BOOST_TEST(wrong->code == errc::invalid_option);
        BOOST_TEST(wrong->message.starts_with(each.name), wrong->message);
    }
}

BOOST_AUTO_TEST_SUITE_END()
