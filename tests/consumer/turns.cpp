// Whose turn it is.

#include <quern/consumer/detail/turns.hpp>
#include <quern/sim/virtual_clock.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

using quern::test::t0;

struct in_turn {
    sim::virtual_clock time;
    std::deque<std::string> ids;
    consumer_options options;
    std::optional<detail::turns> rule;

    in_turn()
    {
        options.tenant = [](delivery const&) { return std::string("not asked: the key has it"); };
    }

    detail::turns& turns() { return rule ? *rule : rule.emplace(options); }

    held_ptr message(std::string const& tenant = "")
    {
        sqs::message m;
        m.id = m.receipt_handle = ids.emplace_back(tenant + std::to_string(ids.size()));
        auto h = make_held(m, nullptr, time, t0);
        h->key = tenant;
        return h;
    }

    void wait(std::string const& tenant, int messages)
    {
        for (int i = 0; i < messages; ++i)
            turns().wait(message(tenant));
    }

    /// The tenants of the next messages; each is handled in an instant, and takes so long by the books.
    std::string run(int messages, std::map<std::string, std::chrono::nanoseconds> const& takes = {})
    {
        std::string out;
        for (int i = 0; i < messages; ++i) {
            auto const h = turns().next();
            if (!h) return out + "-";
            out += h->key;
            turns().began(*h);
            auto const found = takes.find(h->key);
            turns().ended(*h, found == takes.end() ? 100ms : found->second);
        }
        return out;
    }

    static long share(std::string const& ran, char tenant) { return std::ranges::count(ran, tenant); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(turns_rule, in_turn)

BOOST_AUTO_TEST_CASE(without_tenants_the_oldest_is_next)
{
    options.tenant = {};
    BOOST_TEST(turns().admits(*message("a")));
    wait("a", 3);
    wait("b", 1);
    BOOST_TEST(!turns().admits(*message("b")));
    BOOST_TEST(run(5) == "aaab-");
    BOOST_TEST(turns().waiting() == 0u);
}

BOOST_AUTO_TEST_CASE(a_burst_of_one_does_not_keep_the_others_waiting)
{
    wait("a", 1'000);
    BOOST_TEST(run(10) == "aaaaaaaaaa");
    wait("b", 2);
    wait("c", 1);
    BOOST_TEST(run(6) == "bcabaa"); // as if they had come when the last one began
    BOOST_TEST(turns().waiting() == 1'000u - 13);
}

BOOST_AUTO_TEST_CASE(who_was_quiet_makes_up_for_nothing)
{
    wait("a", 100);
    wait("b", 1);
    run(50);
    wait("b", 100);
    auto const next = run(20);
    BOOST_TEST(share(next, 'b') == 10);
}

BOOST_AUTO_TEST_CASE(the_time_of_handlers_is_shared_not_their_number)
{
    wait("s", 1'000);
    wait("f", 1'000);
    run(20, {{"s", 900ms}, {"f", 100ms}}); // it learns
    auto const ran = run(500, {{"s", 900ms}, {"f", 100ms}});
    BOOST_TEST(share(ran, 'f') == 450, boost::test_tools::tolerance(0.03));
}

BOOST_AUTO_TEST_CASE(weights_of_one_two_and_four_hold_within_a_twentieth_over_ten_thousand)
{
    options.fairness.weight = [](std::string const& name) { return name == "c" ? 4.0 : name == "b" ? 2.0 : 1.0; };
    for (auto const* const tenant : {"a", "b", "c"})
        wait(tenant, 10'000);
    auto const ran = run(10'000);
    for (auto const& [tenant, part] : {std::pair('a', 1.0), {'b', 2.0}, {'c', 4.0}})
        BOOST_TEST(
            static_cast<double>(share(ran, tenant)) / (10'000 * part / 7) == 1.0, boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(a_weight_that_is_none_counts_as_one)
{
    options.fairness.weight = [](std::string const& name) -> double {
        if (name == "a") throw std::runtime_error("no such tenant");
        return name == "b" ? -1 : std::numeric_limits<double>::infinity();
    };
    wait("x", 1);
    run(1); // what a handler takes is known from now on
    for (auto const* const tenant : {"a", "b", "c"})
        wait(tenant, 10);
    BOOST_TEST(run(6) == "abcabc");
}

BOOST_AUTO_TEST_CASE(no_more_of_a_tenant_run_at_once_than_may)
{
    options.fairness.tenant_concurrency = 2;
    wait("a", 5);
    wait("b", 1);
    std::vector<held_ptr> running;
    std::string order;
    while (auto h = turns().next()) {
        order += h->key;
        turns().began(*h);
        running.push_back(std::move(h));
    }
    BOOST_TEST(order == "aba");
    BOOST_TEST(!turns().any_may_begin());
    BOOST_TEST(turns().waiting() == 3u);
    BOOST_TEST(!turns().admits(*message("a")));
    BOOST_TEST(turns().admits(*message("c"))); // nobody who may begin waits before it
    auto const seen = turns().busiest(20);
    BOOST_TEST(seen.size() == 2u);
    BOOST_TEST((seen[0].name == "a" && seen[0].waiting == 3 && seen[0].running == 2 && seen[0].capped));
    BOOST_TEST((seen[1].name == "b" && seen[1].waiting == 0 && seen[1].running == 1 && !seen[1].capped));
    turns().not_begun(*running[0]); // its thread was never free
    BOOST_TEST(turns().next()->key == "a");
}

BOOST_AUTO_TEST_CASE(who_lost_its_lease_leaves_the_line)
{
    for (auto const fair : {true, false}) {
        if (!fair) options.tenant = {};
        rule.reset();
        auto const first = message("a"), second = message("a");
        turns().wait(first);
        turns().wait(second);
        first->life.on(message_life::event::lease_lost);
        BOOST_TEST(turns().next() == second);
        BOOST_TEST(turns().next() == nullptr);
        BOOST_TEST(turns().waiting() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(all_are_given_back_those_without_a_place_too)
{
    options.fairness.tenant_concurrency = 1;
    auto const runs = message("a");
    turns().began(*runs);
    wait("a", 3);
    wait("b", 2);
    BOOST_TEST(turns().take_waiting().size() == 5u);
    BOOST_TEST(turns().waiting() == 0u);
}

BOOST_AUTO_TEST_CASE(the_newest_of_who_fills_the_look_ahead_are_the_surplus)
{
    wait("b", 5);
    wait("a", 10);
    auto const gone = turns().surplus(3);
    BOOST_REQUIRE(gone.size() == 3u);
    BOOST_TEST(gone[0]->message.id() == "a14");
    BOOST_TEST(gone[2]->message.id() == "a12");
    BOOST_TEST(turns().waiting() == 12u);
    turns().surplus(2);
    BOOST_TEST(turns().surplus(3).empty()); // no more than half of what waits is of one
}

BOOST_AUTO_TEST_CASE(a_dependency_besides_is_not_taken_for_the_tenant)
{
    options.tenant = [](delivery const& d) { return std::string(d.id().substr(0, 1)); };
    options.outage.dependency = [](delivery const&) { return std::string("the one database"); };
    for (auto const* const tenant : {"a", "a", "a", "b"}) {
        auto h = message(tenant);
        h->key = "the one database";
        turns().wait(std::move(h));
    }
    std::string order;
    while (auto const h = turns().next()) {
        order += h->message.id().front();
        turns().began(*h);
        turns().ended(*h, 1s);
    }
    BOOST_TEST(order == "abaa");
}

BOOST_AUTO_TEST_CASE(tenants_that_are_gone_are_forgotten_one_by_one)
{
    options.outage.max_dependencies = 3;
    for (int i = 0; i < 100; ++i) {
        wait("t" + std::to_string(i), 1);
        run(1);
    }
    wait("t1", 1);
    wait("t99", 1);
    BOOST_TEST(run(3) == "t1t99-");
}

BOOST_AUTO_TEST_CASE(how_long_one_waits_is_told_by_those_before_it)
{
    BOOST_TEST(turns().expected_wait() == 0ns);
    wait("a", 103);
    run(1);
    for (int i = 0; i < 2; ++i)
        turns().began(*turns().next());
    BOOST_TEST(std::chrono::round<std::chrono::milliseconds>(turns().expected_wait()) == 5s);
}

BOOST_AUTO_TEST_SUITE_END()
