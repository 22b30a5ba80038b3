#include "quern/redrive/flag_watch.hpp"
#include "quern/common/flag_text.hpp"

#include <quern/sim/virtual_clock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <string>

using namespace quern;
using namespace quern::app;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

struct said : policy::flag_source {
    std::string name() const override { return "ssm:/x"; }
    asio::awaitable<result<policy::flag_reading>> read() override
    {
        ++readings;
        if (!text) co_return failure(errc::throttled, "slow down", true);
        policy::flag_reading out;
        out.text = *text;
        co_return out;
    }
    std::optional<std::string> text = "closed";
    int readings = 0;
};

struct watched {
    sim::virtual_clock time;
    asio::io_context io;
    std::shared_ptr<said> flag = std::make_shared<said>();
    std::shared_ptr<flag_watch> watch;
    bool begun = false;

    void begin()
    {
        policy::flag_options how;
        how.source = flag;
        how.interval = 5s;
        how.max_age = 60s;
        how.halt_when_unknown = true;
        watch = std::make_shared<flag_watch>(io.get_executor(), how, time);
        asio::co_spawn(io, watch->begin(), [this](std::exception_ptr) { begun = true; });
        time.run_for(io, 0s);
    }
    std::string halted() { return watch->halted().value_or("no"); }
};

std::string shown(std::string const& text)
{
    auto const at = parse_flag(text);
    if (!at) return at.error().message;
    std::string out = std::to_string(static_cast<int>(at->where));
    for (auto const& name : at->path)
        out += '|' + name;
    return out + '|' + at->part;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(a_watched_flag, watched)

BOOST_AUTO_TEST_CASE(lets_all_be_done_while_it_says_so_and_is_read_in_the_background)
{
    begin();
    BOOST_TEST(begun);
    BOOST_TEST(halted() == "no");
    flag->text = "open";
    time.run_for(io, 7s);
    BOOST_TEST(halted().starts_with("flag ssm:/x says halt, read "));
    flag->text = "closed";
    time.run_for(io, 7s);
    BOOST_TEST(halted() == "no");
}

BOOST_AUTO_TEST_CASE(begins_only_when_it_has_a_word_or_was_tried_for_a_while)
{
    flag->text.reset();
    begin();
    BOOST_TEST(!begun);
    time.run_for(io, 6s);
    BOOST_TEST(begun);
    BOOST_TEST(halted().find("never read, which halts") != std::string::npos);
    BOOST_TEST(flag->readings > 3);
}

BOOST_AUTO_TEST_CASE(keeps_its_last_word_for_a_minute_and_is_no_permission_then)
{
    begin();
    flag->text.reset();
    time.run_for(io, 59s);
    BOOST_TEST(halted() == "no");
    time.run_for(io, 2s);
    BOOST_TEST(halted().find("which halts; it cannot be read now: throttled: slow down") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(is_read_no_more_once_it_is_over)
{
    begin();
    watch->end();
    time.run_for(io, 1h);
    BOOST_TEST(flag->readings == 1);
    BOOST_TEST(watch.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(a_text_names_the_place_of_a_flag)
{
    struct row {
        char const* text;
        char const* place;
    };
    for (auto const& [text, place] : {
             row{"file:/run/a#b", "0|/run/a#b|"},
             row{"ssm:/orders/halt:3", "1|/orders/halt:3|"},
             row{"appconfig:shop/prod/flags", "2|shop|prod|flags|"},
             row{"appconfig:shop/prod/flags#/orders/a~1b", "2|shop|prod|flags|/orders/a~1b"},
             row{"appconfig-agent:shop/prod/flags#/orders", "3|shop|prod|flags|/orders"},
             row{"ddb:seen/orders", "4|seen|orders|"},
             row{"ddb:seen/shop/orders#state", "4|seen|shop/orders|state"},
             row{"ddb:seen/quern#flag#orders", "4|seen|orders|"},
             row{"ddb:seen/quern#flag#orders#state", "4|seen|orders|state"},
             row{"ddb:arn:aws:dynamodb:eu-west-1:1:table/seen/orders",
                 "4|arn:aws:dynamodb:eu-west-1:1:table/seen|orders|"},
         })
        BOOST_TEST(shown(text) == place);
    for (auto const* const text : {"", "file", "file:", "ssm:", "ddb:", "ddb:seen", "ddb:/orders", "ddb:seen/orders#",
             "appconfig:a/b", "appconfig:a/b/c/d", "appconfig:a/b/c#", "appconfig:a//c", "s3:x"})
        BOOST_TEST(shown(text).find("is no flag") != std::string::npos, text);
}
