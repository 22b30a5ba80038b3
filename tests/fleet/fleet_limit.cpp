#include <quern/fleet/fleet_limit.hpp>

#include "support/fake_dynamodb.hpp"
#include "support/run.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::test;
using namespace quern::fleet;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

struct town {
    asio::io_context io;
    fake_dynamodb service{io};
    std::shared_ptr<services::dynamodb> client;
    std::vector<std::string> log;

    town()
    {
        service.tables.add("seen");
        auto how = service.options<services::dynamodb_options>();
        how.retries.max_attempts = 1;
        client = std::make_shared<services::dynamodb>(io.get_executor(), std::move(how));
    }

    fleet_limit_options options()
    {
        fleet_limit_options out;
        out.item = {"seen", "orders"};
        out.all.rate = policy::rate{100};
        out.member = "here/1";
        out.seed = 1;
        out.log = [this](log_level, std::string_view text) { log.emplace_back(text); };
        return out;
    }
    std::vector<member> members() { return run(io, members_of(*client, {"seen", "orders"})).value(); }

    /// A process that ends at its first slice that is not empty, or after so many readings.
    std::vector<std::int64_t> rates_of(fleet_limit& it, int readings)
    {
        std::vector<std::int64_t> out;
        auto changed = [&](amounts const& slice) {
            out.push_back(slice.rate);
            if (slice.rate != 0) it.end();
        };
        auto look = [&]() -> asio::awaitable<usage> {
            if (--readings < 0) it.end();
            co_return usage();
        };
        auto const work = [&]() -> asio::awaitable<bool> {
            co_await it.run(changed, look);
            co_return true;
        };
        BOOST_TEST(run(io, work()));
        return out;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(limit_of_a_fleet, town)

BOOST_AUTO_TEST_CASE(a_lone_process_has_all_of_it_and_gives_it_back)
{
    fleet_limit it(io.get_executor(), client, options());
    auto const rates = rates_of(it, 9);
    BOOST_TEST(rates == (std::vector<std::int64_t>{0, 100'000, 0}), boost::test_tools::per_element());
    BOOST_TEST(members().empty());
    BOOST_TEST((service.operations == std::vector<std::string>{"GetItem", "UpdateItem", "UpdateItem", "GetItem"}));
}

BOOST_AUTO_TEST_CASE(what_another_holds_is_left_to_it)
{
    services::item what{{"id", services::attribute::text("quern#fleet#orders")},
        {"m#there", services::attribute::text("1 60000 0 -1 -1")}, {"version", services::attribute::number(3)}};
    run(io, client->put_item({"seen", std::move(what)})).value();
    fleet_limit it(io.get_executor(), client, options());
    auto const rates = rates_of(it, 9);
    BOOST_TEST(rates == (std::vector<std::int64_t>{0, 40'000, 0}), boost::test_tools::per_element());
    auto const left = members();
    BOOST_REQUIRE(left.size() == 1u);
    BOOST_TEST((left[0] == member{"there", 1, {60'000, 0}, {-1, -1}}));
}

BOOST_AUTO_TEST_CASE(without_the_table_nothing_is_leased_and_the_log_says_why)
{
    auto how = options();
    how.item.table = "gone";
    fleet_limit it(io.get_executor(), client, how);
    auto const rates = rates_of(it, 0);
    BOOST_TEST(rates == (std::vector<std::int64_t>{0}), boost::test_tools::per_element());
    BOOST_REQUIRE(!log.empty());
    BOOST_TEST(log[0].find("fleet limit: the slice stays 0/s") != std::string::npos, log[0]);
}

BOOST_AUTO_TEST_CASE(options_are_checked)
{
    struct {
        char const* name;
        std::function<void(fleet_limit_options&)> spoil;
    } const rows[] = {
        {"table", [](auto& o) { o.item.table.clear(); }},
        {"name", [](auto& o) { o.item.name.clear(); }},
        {"member", [](auto& o) { o.member = "a b"; }},
        {"budget", [](auto& o) { o.all = {}; }},
    };
    BOOST_TEST(!options().validate().has_value());
    for (auto const& row : rows) {
        auto o = options();
        row.spoil(o);
        BOOST_TEST_CONTEXT(row.name)
        {
            BOOST_TEST(o.validate().has_value());
            BOOST_CHECK_THROW(fleet_limit(io.get_executor(), client, o), boost::system::system_error);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
