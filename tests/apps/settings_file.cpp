#include "quern/consume/settings_file.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace quern;
using namespace quern::app;
using namespace std::chrono_literals;

namespace {

std::string refused(std::string_view document)
{
    auto const got = limits_from(document, "shop.toml", consumer_limits());
    return got ? "" : got.error().message;
}

} // namespace

BOOST_AUTO_TEST_SUITE(settings_file)

BOOST_AUTO_TEST_CASE(what_it_names_is_set_and_the_rest_stays)
{
    auto const all =
        limits_from("max_in_flight = 200\nmax_bytes_in_flight = 67_108_864\nrate = \"30/min\"\nburst = 5\n"
                    "max_polls = 8\nhandler_concurrency = 4\n",
            "shop.toml", consumer_limits());
    BOOST_REQUIRE(all.has_value());
    auto const rate = policy::rate{.count = 300, .per = 10min, .burst = 5};
    BOOST_TEST(*all == (consumer_limits{200, 67'108'864, rate, 8, 4}));
    consumer_limits base{.max_in_flight = 7, .rate = rate, .handler_concurrency = 3};
    BOOST_TEST(limits_from("", "shop.toml", base).value() == base);
    auto const one = limits_from("rate = 50 # a second", "shop.toml", base);
    BOOST_REQUIRE(one.has_value());
    base.rate = policy::rate{.count = 500, .per = 10s};
    BOOST_TEST(*one == base);
    auto const none =
        limits_from("rate = \"none\"\nmax_bytes_in_flight = \"none\"\nhandler_concurrency = \"none\"", "x", base);
    BOOST_REQUIRE(none.has_value());
    BOOST_TEST(*none == (consumer_limits{.max_in_flight = 7, .max_bytes_in_flight = {}}));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_with_its_place)
{
    std::pair<char const*, char const*> const cases[] = {
        {"max_in_flight = 0", "--settings shop.toml:1:17: max_in_flight must be a whole number from 1 to "},
        {"max_in_flight = 200_000", "shop.toml:1:17: is refused: max_in_flight must not exceed 120000"},
        {"\nmax_in_flight = \"many\"", "shop.toml:2:17: max_in_flight must be a whole number"},
        {"max_bytes_in_flight = 5", "is refused: max_bytes_in_flight must be at least 1 MiB"},
        {"max_polls = 1001", "is refused: max_polls must be from 1 to 1000"},
        {"handler_concurrency = -1", "handler_concurrency must be a whole number from 1 to "},
        {"rate = \"fast\"", "shop.toml:1:8: rate fast is no rate: 50 for fifty a second"},
        {"rate = 0", "rate 0 is no rate"},
        {"rate = []", "rate must be a text in quotes"},
        {"burst = 5", "shop.toml:1:9: burst needs a rate"},
        {"rate = 5\nburst = 0", "shop.toml:2:9: burst must be a whole number from 1 to 1000000"},
        {"max_inflight = 5", "shop.toml:1:1: max_inflight is not known; there are max_in_flight,"},
        {"max_polls = = 5", "shop.toml:1:13: is no TOML: "},
        {"\n[=]", "shop.toml:2:2: is no TOML: "},
        {"max_polls = \u00e9", "shop.toml:1:13: is no TOML: "},
    };
    for (auto const& [document, wanted] : cases) {
        auto const said = refused(document);
        BOOST_TEST(said.find(wanted) != std::string::npos, "\"" << said << "\" lacks \"" << wanted << '"');
    }
    std::string endless = "# 1\n[a";
    for (int i = 0; i < 200'000; ++i)
        endless += ".a";
    BOOST_TEST(refused(endless + "]") == "--settings shop.toml:2: has a key of more than 1024 parts");
    BOOST_TEST(refused("rate = \"" + endless.substr(4) + '"').find("rate ") != std::string::npos);
    BOOST_TEST(load_limits("/no/such/file", consumer_limits()).error().message ==
        "--settings /no/such/file: cannot be read");
}

BOOST_AUTO_TEST_SUITE_END()
