// A process that is killed again and again, at another point each time, over a thousand messages.

#include "redrive/mortal.hpp"

#include <quern/sqs/queue_reference.hpp>

using namespace quern;
using namespace quern::test;

namespace {

/// Everything that a report says, counted from the lines of the history alone, by their types.
struct history {
    std::uint64_t events = 0;
    std::map<std::string, std::uint64_t> last; // event of each message, and of the run
    std::map<std::string, std::string> to;     // where each message goes
    std::size_t redriven = 0, isolated = 0, deleted = 0, maybe_twice = 0, failures = 0, kills = 0;
    std::map<std::string, std::size_t> by_queue;
    std::string poison;

    result<void> operator()(redrive::event&& e)
    {
        using kind = redrive::event_kind;
        BOOST_TEST(e.id == ++events);
        auto const before = last.find(e.message);
        BOOST_TEST(e.previous ==
            (before != last.end() ? before->second
                    : e.id == 1   ? 0
                                  : 1)); // or the run's beginning
        last[e.message] = e.id;
        if (e.kind == kind::sending) to[e.message] = e.queue;
        if (e.kind == kind::sending && e.maybe_twice) ++maybe_twice;
        if (e.kind == kind::send_failed) ++failures;
        if (e.kind == kind::deleted) ++deleted;
        if (e.kind == kind::resumed) ++kills;
        if (e.kind != kind::sent) return {};
        if (to[e.message] == poison)
            ++isolated;
        else
            ++redriven, ++by_queue[std::string(sqs::queue_name_in(to[e.message]))];
        return {};
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(redriver_killed_again, yard)

BOOST_AUTO_TEST_CASE(a_thousand_messages_survive_kills_at_every_point_of_their_way)
{
    constexpr int messages = 1'000, lives = 120;
    auto const billing = source("billing");
    options.poison_url = poison;
    options.plan.max_attempts = 3;
    kill(orders, messages / 2);
    kill(billing, messages / 2 - 50);
    for (int i = 0; i < 50; ++i) {
        auto worn = letter(orders, "worn out " + std::to_string(i));
        worn.attributes["x-redrive-attempt"] = {"Number", "3"};
        send(orders, worn);
    }
    fail_all(orders);
    BOOST_REQUIRE(all(dead) == messages);

    disk d;
    int killed = 0, left_at_half = 0;
    std::optional<redrive::report> end;
    for (int i = 0; i < lives; ++i) {
        life one(engine, time, d, options, 1 + i % 60);
        BOOST_REQUIRE(time.run_until_done(one.io, 2h, [&] { return one.end.is_dead || one.report.has_value(); }));
        if (!one.end.is_dead) end = one.report->value();
        if (end) break;
        ++killed;
        if (killed == lives / 4) left_at_half = all(dead);
    }
    BOOST_TEST(killed >= lives / 4); // not all was done before it was killed at its thirtieth point
    BOOST_TEST(left_at_half > 0);
    if (!end) {
        life last(engine, time, d, options, 0);
        BOOST_REQUIRE(time.run_until_done(last.io, 24h, [&] { return last.report.has_value(); }));
        end = last.report->value();
    }
    auto const& told = *end;

    auto there = bodies(orders);
    auto const in_billing = bodies(billing), in_poison = bodies(poison);
    BOOST_TEST(in_billing.size() == messages / 2 - 50u); // each to its own
    BOOST_TEST(in_poison.size() == 50u);
    for (auto const* some : {&in_billing, &in_poison})
        for (auto const& [body, times] : *some)
            there[body] += times;
    BOOST_TEST(there.size() == std::size_t(messages)); // lost: none
    BOOST_TEST(all(dead) == 0);
    std::size_t twice = 0;
    for (auto const& [body, times] : there)
        twice += static_cast<std::size_t>(times - 1);

    history h;
    h.poison = poison;
    std::size_t torn = 0;
    auto const read = redrive::read_events(d.text, std::ref(h));
    BOOST_REQUIRE(read.has_value());
    torn = read->torn;
    BOOST_TEST(torn == 0u);
    BOOST_TEST(h.kills > 0u);
    BOOST_TEST(twice <= h.maybe_twice); // each was marked
    BOOST_TEST(told.redriven == h.redriven);
    BOOST_TEST(told.isolated == h.isolated);
    BOOST_TEST(told.deleted == h.deleted);
    BOOST_TEST(told.maybe_twice == h.maybe_twice);
    BOOST_TEST(told.failures == h.failures);
    BOOST_TEST(told.by_queue == h.by_queue);
    BOOST_TEST(h.redriven + h.isolated == std::size_t(messages));
    BOOST_TEST(told.unknown == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
