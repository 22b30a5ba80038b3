#include <quern/consumer/detail/lease_book.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <vector>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

struct leases {
    sim::virtual_clock time;
    tick const t0 = time.now() + 1h;
    lease_book book{30s};

    held_ptr hold(tick at)
    {
        sqs::message m;
        m.id = names.emplace_back(std::to_string(names.size()));
        auto h = make_held(m, nullptr, time, at);
        book.hold(*h, at);
        h->life.on(message_life::event::begin); // what waits for its turn has other leases
        return h;
    }

    std::deque<std::string> names;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(lease_book_rule, leases)

BOOST_AUTO_TEST_CASE(a_lease_is_extended_when_a_third_is_left_and_not_before)
{
    auto const a = hold(t0);
    BOOST_TEST(book.poll(t0 + 19s).extend.empty());
    BOOST_TEST(*book.poll(t0 + 19s).wake_at == t0 + 20s);
    auto const due = book.poll(t0 + 20s);
    BOOST_TEST(due.extend.size() == 1u);
    BOOST_TEST(due.extend[0].what == a);
    BOOST_TEST(due.extend[0].timeout == 30s);
    BOOST_TEST(book.poll(t0 + 21s).extend.empty()); // asked for once
}

BOOST_AUTO_TEST_CASE(what_waits_for_its_turn_has_leases_that_grow_with_its_wait)
{
    for (auto const in_a_batch : {false, true}) {
        sqs::message m;
        m.id = "waits";
        auto const h = make_held(m, nullptr, time, t0);
        book.hold(*h, t0);
        if (in_a_batch) h->life.on(message_life::event::gather);
        std::vector<std::int64_t> leases;
        auto now = t0;
        while (leases.size() < 7) {
            auto const due = book.poll(now);
            BOOST_REQUIRE(due.lost.empty());
            for (auto const& one : due.extend) {
                leases.push_back(one.timeout.count());
                book.extended(*h, now, one.timeout);
            }
            now = book.poll(now).wake_at.value();
        }
        BOOST_TEST(leases == (std::vector<std::int64_t>{80, 360, 900, 900, 900, 900, 900}));
        h->life.on(message_life::event::begin);
        h->began_at = now;
        BOOST_TEST(book.poll(now).extend.at(0).timeout == 30s); // as of any that is handled
        book.drop(*h);
    }
}

// Leases there are shorter than the time left at an extension: each answer was followed by a request for less.
BOOST_AUTO_TEST_CASE(at_the_horizon_nobody_asks_for_less_than_a_second)
{
    auto const h = hold(t0);
    auto now = t0 + lease_book::horizon - 4'300ms;
    book.extended(*h, now, 4s); // as its handler had asked
    int asked = 0;
    for (auto due = book.poll(now += 200ms); due.lost.empty(); due = book.poll(now)) {
        for (auto const& one : due.extend)
            book.extended(*h, now, one.timeout);
        asked += static_cast<int>(due.extend.size());
        now = due.extend.empty() ? due.wake_at.value() : now + 200ms; // the answer takes its time
    }
    BOOST_TEST(asked == 0);
    BOOST_TEST(h->message.lease_deadline() > t0 + lease_book::horizon - 1s);
}

// 100,000 handlers of an hour lost all leases, since each was extended by the same 30 s for ever.
BOOST_AUTO_TEST_CASE(what_runs_has_leases_that_grow_with_its_age)
{
    auto const extensions = [this](lease_book& of, held& h, tick until) {
        std::vector<std::int64_t> out;
        for (auto now = t0; now < until; now = of.poll(now).wake_at.value()) {
            auto const due = of.poll(now);
            BOOST_REQUIRE(due.lost.empty());
            for (auto const& one : due.extend) {
                out.push_back(one.timeout.count());
                of.extended(h, now, one.timeout);
            }
        }
        return out;
    };
    auto const h = hold(t0);
    BOOST_TEST(extensions(book, *h, t0 + 1000s) == (std::vector<std::int64_t>{30, 40, 70, 130, 250, 300, 300}));
    lease_book bounded{30s, 100s};
    auto const limited = hold(t0);
    book.drop(*limited);
    limited->began_at = t0;
    bounded.hold(*limited, t0);
    BOOST_TEST(extensions(bounded, *limited, t0 + 130s) == (std::vector<std::int64_t>{30, 40, 60, 30}));
}

BOOST_AUTO_TEST_CASE(where_extending_all_takes_long_it_begins_earlier)
{
    auto const a = hold(t0);
    BOOST_TEST(book.short_ones() == 1u);
    book.expect_extending(10s);
    BOOST_TEST(*book.poll(t0).wake_at == t0 + 15s);
    book.expect_extending(10min);
    BOOST_TEST(*book.poll(t0).wake_at == t0 + 10s);
    book.expect_extending(1s);
    BOOST_TEST(*book.poll(t0).wake_at == t0 + 20s);
    BOOST_REQUIRE(book.poll(t0 + 20s).extend.size() == 1u);
    BOOST_TEST(book.short_ones() == 1u);
    book.extended(*a, t0 + 20s, 60s);
    BOOST_TEST(book.short_ones() == 0u);
    book.drop(*a);
    BOOST_TEST(book.short_ones() == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_expected_to_wait_for_long_has_a_long_lease_at_once)
{
    auto const h = hold(t0);
    h->life.on(message_life::event::lease_lost);
    sqs::message m;
    m.id = "waits";
    auto const waits = make_held(m, nullptr, time, t0);
    book.hold(*waits, t0);
    book.expect_wait(500s);
    BOOST_TEST(book.poll(t0 + 20s).extend.back().timeout == 500s);
}

BOOST_AUTO_TEST_CASE(a_receive_may_hide_for_longer)
{
    auto const a = hold(t0);
    book.hold(*a, t0, 600s);
    BOOST_TEST(book.poll(t0 + 20s).extend.empty());
    BOOST_TEST(*book.poll(t0 + 20s).wake_at == t0 + 590s);
}

BOOST_AUTO_TEST_CASE(leases_of_one_receive_are_extended_together)
{
    std::vector<held_ptr> all;
    for (int i = 0; i < 25; ++i)
        all.push_back(hold(t0));
    BOOST_TEST(book.poll(t0 + 20s).extend.size() == 25u);
}

// Their addresses decided, so the same simulated day was not the same twice.
BOOST_AUTO_TEST_CASE(leases_that_end_together_are_extended_in_the_order_of_their_ids)
{
    std::deque<held_ptr> all;
    for (int i = 0; i < 9; ++i)
        all.push_back(hold(t0));
    for (auto const i : {4, 8, 0, 6, 2, 5, 1, 7, 3})
        book.extended(*all[static_cast<std::size_t>(i)], t0, 1min); // longer than usual: apart from the others
    auto const due = book.poll(t0 + 50s).extend;
    BOOST_TEST(due.size() == 9u);
    BOOST_TEST(std::ranges::is_sorted(due, {}, [](auto const& its) { return its.what->message.id(); }));
}

BOOST_AUTO_TEST_CASE(a_confirmed_extension_counts_from_when_it_was_sent)
{
    auto const a = hold(t0);
    book.poll(t0 + 20s);
    book.extended(*a, t0 + 20s, 30s);
    BOOST_TEST(a->message.lease_deadline() == t0 + 50s);
    BOOST_TEST(*book.poll(t0 + 22s).wake_at == t0 + 40s);
    BOOST_TEST(book.poll(t0 + 40s).extend.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_lease_whose_extension_is_never_confirmed_is_lost_at_its_end_and_once)
{
    auto const a = hold(t0);
    book.poll(t0 + 20s);
    BOOST_TEST(book.poll(t0 + 29s).lost.empty());
    auto const end = book.poll(t0 + 30s);
    BOOST_TEST(end.lost.size() == 1u);
    BOOST_TEST(end.lost[0] == a);
    BOOST_TEST(book.poll(t0 + 31s).lost.empty());
}

BOOST_AUTO_TEST_CASE(a_process_that_slept_past_the_end_reports_the_lease_lost_not_extended)
{
    auto const a = hold(t0);
    auto const late = book.poll(t0 + 5min);
    BOOST_TEST(late.extend.empty());
    BOOST_TEST(late.lost.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_settled_message_is_forgotten)
{
    auto const a = hold(t0);
    auto const b = hold(t0 + 1s);
    book.drop(*a);
    auto const due = book.poll(t0 + 21s);
    BOOST_TEST(due.extend.size() == 1u);
    BOOST_TEST(due.extend[0].what == b);
    book.drop(*b);
    BOOST_TEST(!book.poll(t0 + 31s).wake_at.has_value());
}

// The visibility timeout cannot reach beyond 12 hours after the receive: SQS refuses it (SQS developer guide).
BOOST_AUTO_TEST_CASE(no_extension_reaches_beyond_twelve_hours_from_the_receive)
{
    auto const a = hold(t0);
    auto now = t0;
    for (int guard = 0; guard < 10'000; ++guard) {
        auto const next = book.poll(now);
        if (!next.lost.empty()) break;
        for (auto const& e : next.extend) {
            BOOST_TEST(now + e.timeout <= t0 + 12h);
            book.extended(*e.what, now, e.timeout);
        }
        auto const after = book.poll(now);
        BOOST_REQUIRE(after.wake_at.has_value());
        now = *after.wake_at;
    }
    BOOST_TEST(now > t0 + 11h + 59min);
    BOOST_TEST(now <= t0 + 12h);
}

BOOST_AUTO_TEST_CASE(a_redelivery_starts_a_new_lease)
{
    auto const a = hold(t0);
    book.poll(t0 + 20s);
    book.hold(*a, t0 + 25s);
    BOOST_TEST(book.poll(t0 + 31s).lost.empty());
    BOOST_TEST(a->message.lease_deadline() == t0 + 55s);
}

// Half of them for as long as their handlers asked, answers that overtook each other, some settled meanwhile.
BOOST_AUTO_TEST_CASE(each_lease_has_its_own_time_whatever_those_beside_it_have)
{
    std::vector<held_ptr> all;
    for (int i = 0; i < 300; ++i) {
        auto const h = all.emplace_back(hold(t0 + 10ms * (i % 7)));
        if (i % 2 == 0) book.extended(*h, t0 + 1s * (i % 5), std::chrono::seconds(25 + i * 37 % 3'600));
    }
    for (std::size_t i = 0; i < all.size(); i += 11)
        book.drop(*all[i]);
    std::map<held_ptr, tick> asked, lost;
    for (auto next = std::optional(t0); next;) {
        auto const now = *next;
        auto const plan = book.poll(now);
        for (auto const& e : plan.extend)
            asked.emplace(e.what, now);
        for (auto const& h : plan.lost)
            lost.emplace(h, now);
        next = plan.wake_at;
        BOOST_REQUIRE((!next || *next > now));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const& h = all[i];
        BOOST_TEST(asked.contains(h) == (i % 11 != 0));
        BOOST_TEST(lost.contains(h) == (i % 11 != 0));
        if (i % 11 == 0) continue;
        BOOST_TEST(asked[h] == h->message.lease_deadline() - 10s);
        BOOST_TEST(lost[h] == h->message.lease_deadline());
    }
}

BOOST_AUTO_TEST_SUITE_END()
