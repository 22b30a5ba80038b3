// The promises about speed, age and what can never succeed, on days that are written down by hand.

#include "book.hpp"

#include <quern/sim/detail/healthy.hpp>
#include <quern/sim/poll_places.hpp>
#include <quern/sim/speed_book.hpp>
#include <quern/sim/world.hpp>

#include <boost/asio/co_spawn.hpp>

#include <functional>
#include <utility>

using namespace quern;
using namespace quern::test;
using kind = sim::verdict::kind;

namespace {

/// One in ten seconds in the first minute, by tenant 0 and by tenant 1.
sim::speed_book a_usual_minute(std::uint64_t tenants)
{
    sim::speed_promise promise{0s, 1min, 2min, 4min};
    promise.of_tenants = tenants;
    promise.when = "for some";
    sim::speed_book out({promise});
    for (int i = 0; i < 6; ++i)
        for (int tenant : {0, 1})
            out.ended(tenant, 1s, tick() + 10s * i);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(promises)

BOOST_AUTO_TEST_CASE(a_speed_is_that_of_those_who_were_promised_it)
{
    auto kept = a_usual_minute(1), broken = a_usual_minute(2);
    for (int i = 0; i < 11; ++i)
        for (auto* b : {&kept, &broken})
            b->ended(0, 1s, tick() + 2min + 10s * i);
    broken.ended(1, 1s, tick() + 4min); // too late
    BOOST_TEST(kept.broken().empty());
    BOOST_REQUIRE(broken.broken().size() == 1u);
    BOOST_TEST(broken.broken().front() ==
        "promised for some: at least 90 % of the usual 0.10 tries a second; from 120 s to 240 s there are 0.00");
}

BOOST_AUTO_TEST_CASE(a_speed_that_chance_alone_may_bring_breaks_no_promise)
{
    for (auto const& [then, is_kept] : {std::pair(11, true), {7, true}, {1, false}}) { // of 10.8 that are promised
        auto book = a_usual_minute(1);
        for (int i = 0; i < then; ++i)
            book.ended(0, 1s, tick() + 2min + 10s * i);
        BOOST_TEST(book.broken().empty() == is_kept, then);
    }
}

BOOST_AUTO_TEST_CASE(a_speed_and_the_time_of_a_try_may_be_known)
{
    sim::speed_promise promise{{}, {}, 0s, 100s};
    promise.usual = 1;
    promise.longest_mean = 2s;
    promise.when = "for all";
    for (auto const& [tries, took, broken] : {std::tuple(90, 2s, ""), {60, 1s, "at least 90 % of the usual 1.00"},
             {90, 3s, "a try takes 2.00 s at most in the mean; from 0 s to 100 s it takes 3.00 s"}}) {
        sim::speed_book book({promise});
        for (int i = 0; i < tries; ++i)
            book.ended(0, took, tick() + 1s * i);
        auto const said = book.broken();
        BOOST_TEST(said.empty() == std::string_view(broken).empty());
        BOOST_TEST((said.empty() || said.front().find(broken) != std::string::npos));
    }
}

BOOST_AUTO_TEST_CASE(a_number_at_once_that_does_not_find_itself_breaks_what_is_promised_of_it)
{
    for (auto const& [handlers, broken] : {std::pair<std::optional<std::size_t>, char const*>(std::nullopt, ""),
             {1, "tries a second"}, {500, "at most in the mean"}}) {
        auto day = sim::draw("called", 2);
        if (handlers) day.consumer.concurrency.reset();
        day.consumer.limits.handler_concurrency = handlers;
        auto const got = sim::run(day).violations;
        BOOST_TEST(got.empty() == !handlers.has_value());
        BOOST_TEST((got.empty() || got.front().find(broken) != std::string::npos));
    }
}

/// Ten messages a second, ten of each of two tenants in turn; the first is down for a hundred seconds. A false alarm
/// takes ten.
BOOST_AUTO_TEST_CASE(the_healthy_are_compared_with_a_day_without_a_breaker)
{
    struct row {
        char const* broken; ///< empty: kept
        bool keyed;
        std::function<std::chrono::seconds(int number)> behind;
    };
    row const rows[] = {
        {"", true, [](int) { return 0s; }},
        {"", true, [](int) { return 5s; }},
        {"", true, [](int n) { return n % 10 == 3 ? 1h : 0s; }},
        {"", true, [](int n) { return n / 10 % 2 == 0 && n >= 1'000 && n < 2'000 ? 100s : 0s; }}, // the ill
        {"are late by", true, [](int) { return 7s; }},
        {"are late by", true, [](int n) { return n % 10 < 2 ? 1h : 0s; }},
        {"", false, [](int n) { return n >= 1'000 && n < 1'080 ? 14s : 0s; }},
        {"are late by", false, [](int n) { return n >= 1'000 && n < 1'080 ? 17s : 0s; }},
        {"that were sent within", false, [](int n) { return n >= 1'000 ? 7s : 0s; }},
    };
    sim::scenario day;
    day.tenants = 2;
    day.in_a_row = 10;
    day.messages = 3'000;
    day.sent_within = 300s;
    sim::spell down{100s, 200s, {}};
    down.tenants_down = 1;
    day.spells = {down};
    for (auto const& [broken, keyed, behind] : rows) {
        day.keyed = keyed;
        std::map<int, tick> without, with;
        for (int i = 0; i < day.messages; ++i) {
            auto const ill = i >= 1'000 && i < 2'000 && sim::tenant_of(day, i) == 0;
            without[i] = tick() + (ill ? 200s : sim::sent_at(day, i));
            with[i] = without[i] + behind(i);
        }
        auto const said = sim::detail::worse_for_the_healthy(day, without, with);
        auto const first = said.empty() ? std::string() : said.front();
        BOOST_TEST(first.empty() == (*broken == 0), broken << " in " << first);
        BOOST_TEST(first.find(broken) != std::string::npos, broken << " in " << first);
    }
}

BOOST_AUTO_TEST_CASE(messages_of_tenants_come_in_any_order)
{
    sim::scenario day;
    day.tenants = 10;
    day.messages = 400;
    day.sent_within = 100s;
    day.piles = {{0s, 100}, {50s, 100}};
    for (auto const& [number, at] : {std::pair(0, 0s), {99, 0s}, {100, 0s}, {102, 1s}, {199, 49s}, {200, 50s},
             {299, 50s}, {300, 50s}, {302, 51s}})
        BOOST_TEST((std::chrono::floor<std::chrono::seconds>(sim::sent_at(day, number)) == at), number);
    BOOST_TEST(sim::tenant_of(day, 27) == 7);
    day.in_a_row = 5;
    BOOST_TEST(sim::tenant_of(day, 27) == 5);
    day.in_turn = false;
    day.groups = 30;
    std::set<int> seen;
    for (int i = 0; i < day.messages; ++i) {
        seen.insert(sim::tenant_of(day, i));
        BOOST_TEST(sim::tenant_of(day, i) == sim::tenant_of(day, i / 5 * 5));
        BOOST_TEST(sim::group_of(day, i) % 10 == sim::tenant_of(day, i));
        BOOST_TEST(sim::group_of(day, i) < day.groups);
    }
    BOOST_TEST(seen.size() == 10u);
}

BOOST_AUTO_TEST_CASE(no_handler_runs_on_beyond_its_guard)
{
    for (bool const refuses : {false, true}) {
        book good, late;
        for (auto* b : {&good, &late}) {
            b->receive(0, 1, 1);
            b->books.started(0, 1);
            auto const began = b->time.now();
            b->books.guarded(0, 1, began, sim::guard_news::agrees, began + 2s);
            if (refuses) b->books.guarded(0, 1, began, sim::guard_news::refuses, {});
            if (!refuses) b->pass(1s);
            if (!refuses) b->hide(0, 1, 1, 3s);
            b->pass(b == &late ? 2s : refuses ? 0s : 1s);
            b->books.ended(0, 1, {kind::cancelled}, true);
        }
        good.expect_nothing();
        late.expect("without a lease");
    }
}

BOOST_AUTO_TEST_CASE(what_finds_its_dependency_down_is_no_speed)
{
    auto rules = fifo();
    rules.speeds = {{0s, 2s, 2s, 4s, 0.9, 1, "later"}};
    book good(rules), bad(rules);
    for (auto* b : {&good, &bad}) {
        b->receive(0, 1, 1);
        for (int i = 0; i < 10; ++i)
            b->run(0, 1, {kind::failed});
        b->pass(2s);
        sim::verdict said{kind::failed};
        said.found_down = b == &bad;
        for (int i = 0; i < 10; ++i)
            b->run(0, 1, said);
        b->books.finished(false, {});
        auto const all = b->books.violations;
        auto const late = std::ranges::any_of(all, [](auto const& v) { return v.find("later") != v.npos; });
        BOOST_TEST(late == (b == &bad));
    }
}

BOOST_AUTO_TEST_CASE(the_limits_of_a_process_are_its_own)
{
    auto rules = fifo();
    rules.ordered = false; // of a message group only the first takes a place
    auto one = rules;
    one.limits.max_in_flight = 1;
    book b(rules);
    b.books.obeys(0, one);
    b.books.holds(1, 2);
    b.expect_nothing();
    b.books.holds(0, 2);
    b.expect("process 0 holds 2 messages, more than 1");
}

BOOST_AUTO_TEST_CASE(a_receive_that_is_given_up_hides_what_comes)
{
    book alive, dead;
    for (auto* b : {&alive, &dead}) {
        if (b == &dead) b->books.killed(0);
        b->service(0).received(b->asked(), b->answer(0, 1, 1));
        b->service(0).received_for_nobody(b->answer(0, 1, 1));
    }
    alive.expect("hidden by a receive that was given up");
    dead.expect_nothing();
}

BOOST_AUTO_TEST_CASE(what_can_never_succeed_is_dead_in_time)
{
    auto rules = fifo();
    rules.poisoned = {1};
    rules.dead_within = 5s;
    book good(rules), late(rules), never(rules);
    for (auto* b : {&good, &late, &never}) {
        b->receive(0, 1, 1);
        b->pass(b == &late ? 6s : 4s);
        b->service(0).received(b->asked(), b->answer(0, 1, 2));
        b->books.violations.clear(); // who let the lease run out is another question
        b->books.finished(true, b == &never ? std::set<int>{2} : std::set<int>{1, 2});
    }
    good.expect_nothing();
    late.expect("promised: dead after 5.000 s");
    BOOST_TEST(never.books.violations.size() == 2u); // and it is lost
}

BOOST_AUTO_TEST_CASE(a_copy_on_the_poison_queue_tells_what_happened_to_the_message)
{
    struct row {
        char const* untold; // empty: all is told
        std::function<void(sqs::send_message_entry&)> spoil;
    };
    auto const spoilt = [](char const* name, char const* to) {
        return [=](sqs::send_message_entry& copy) { copy.attributes[name].value = to; };
    };
    row const rows[] = {
        {"", [](auto&) {}},
        {"why it was rejected", spoilt("QuernReason", "")},
        {"its original id", spoilt("QuernOriginalId", "id-2")},
        {"the queue that it comes from", spoilt("QuernSource", "poison.fifo")},
        {"how often it was received", spoilt("QuernReceiveCount", "0")},
        {"how often it was received", spoilt("QuernReceiveCount", "2")},
        {"its trace header", [](auto& copy) { copy.system_attributes.clear(); }},
    };
    for (auto const& [untold, spoil] : rows) {
        book b;
        b.receive(0, 1, 1);
        b.run(0, 1, {kind::rejected});
        auto copy = book::copy(1);
        spoil(copy);
        b.hand_off(0, std::move(copy));
        if (*untold == 0)
            b.expect_nothing();
        else
            b.expect(untold);
    }
}

BOOST_AUTO_TEST_CASE(a_copy_tells_the_receive_that_was_rejected_and_no_reason_that_nobody_has_given)
{
    book good, old_receive, invented;
    for (auto* b : {&good, &old_receive, &invented}) {
        b->receive(0, 1, 1);
        b->run(0, 1, {kind::failed});
        b->hide(0, 1, 1, 0s);
        b->receive(0, 1, 2);
        sim::verdict said{kind::rejected};
        said.unexplained = true;
        b->run(0, 1, said);
        auto copy = book::copy(1);
        if (b != &invented) copy.attributes.erase("QuernReason");
        if (b != &old_receive) copy.attributes["QuernReceiveCount"].value = "2";
        b->hand_off(0, std::move(copy));
    }
    good.expect_nothing();
    old_receive.expect("how often it was received");
    invented.expect("why it was rejected");
}

BOOST_AUTO_TEST_CASE(a_copy_of_what_was_rejected_before_tells_the_newest_reason_and_the_oldest_id)
{
    for (bool const is_new : {true, false}) {
        book b;
        b.books.sent(3, "another group", "3", true);
        b.receive(0, 3, 1);
        b.run(0, 3, {kind::rejected});
        auto copy = book::copy(3);
        for (auto const* name : {"QuernOriginalId", is_new ? "QuernOriginalId" : "QuernReason"})
            copy.attributes[name] = sim::detail::earlier_life(3)[name];
        b.hand_off(0, std::move(copy));
        if (is_new)
            b.expect_nothing();
        else
            b.expect("does not tell why it was rejected");
    }
}

BOOST_AUTO_TEST_CASE(answers_without_handles_are_no_news_that_ends_a_hot_loop)
{
    auto const ask = [](book& b, int times, bool with_handle) {
        for (int i = 0; i < times; ++i) {
            auto got = b.answer(0, 1, 1);
            if (with_handle) b.service(0).received(b.asked(), got);
            if (!with_handle) {
                got.messages.clear();
                got.damaged.push_back({0, {}, failure(errc::bad_reply, "MessageId is missing")});
            }
            b.service(0).delivered(b.asked(), got, b.time.now());
        }
    };
    book few, many, broken_by_news;
    ask(few, 25, false);
    ask(many, 26, false);
    ask(broken_by_news, 25, false);
    ask(broken_by_news, 1, true);
    ask(broken_by_news, 25, false);
    few.expect_nothing();
    many.expect("receives in a hot loop");
    broken_by_news.expect_nothing();
}

BOOST_AUTO_TEST_CASE(times_of_standing_back_are_counted_once_and_only_those_that_show)
{
    sim::scenario day;
    sim::spell down{10min, 20min, {}};
    down.dependency_down = true; // shows three minutes later
    day.spells = {down};
    day.incidents = {{sim::incident::kind::rest, 0, 15min, 10min}, {sim::incident::kind::rest, 1, 0min, 10h}};
    BOOST_TEST(sim::stood_back(day, 0, tick(), tick() + 1h) == 12min);
    BOOST_TEST(sim::stood_back(day, 0, tick() + 14min, tick() + 16min) == 2min);
    BOOST_TEST(sim::stood_back(day, 0, tick(), tick() + 12min) == 0min);
}

BOOST_AUTO_TEST_CASE(polls_stand_in_line_for_a_connection)
{
    sim::virtual_clock time;
    boost::asio::io_context io;
    auto const places = std::make_shared<sim::poll_places>(1);
    std::vector<int> order;
    auto const poll = [&](int number, milliseconds limit, milliseconds length) -> boost::asio::awaitable<void> {
        sim::poll_place mine(places, time, io.get_executor());
        auto const granted = co_await mine.granted(time.now() + limit);
        order.push_back(granted ? number : -number);
        if (!granted) co_return;
        auto const timer = time.make_timer(io.get_executor());
        co_await timer->wait_until(time.now() + length);
    };
    for (auto const& [number, limit] : {std::pair(1, 1s), {2, 1s}, {3, 10s}, {4, 10s}})
        boost::asio::co_spawn(
            io, poll(number, limit, 2s), [](std::exception_ptr) {}); // coroutine-ok: `poll` outlives the run
    time.run_for(io, 1min);
    BOOST_TEST(order == (std::vector<int>{1, -2, 3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
