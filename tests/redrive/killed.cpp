// A kill after every write of the journal and at every call, before it and after: nothing is lost, and what is there
// twice was marked.

#include "redrive/mortal.hpp"

using namespace quern;
using namespace quern::test;

namespace {

struct graveyard : yard {
    using yard::yard;

    struct story {
        int points = 0;
        bool was_killed = false, goes_on = false;
        std::map<std::string, int> there;
        redrive::report end;
        redrive::run_book book;
    };

    /// One run, killed at that point and gone on with by a second process.
    story live(int dies_at)
    {
        disk d;
        story out;
        {
            life first(engine, time, d, options, dies_at);
            BOOST_REQUIRE(
                time.run_until_done(first.io, 2h, [&] { return first.end.is_dead || first.report.has_value(); }));
            out.points = first.end.seen;
            out.was_killed = first.end.is_dead;
            if (!out.was_killed) out.end = first.report->value();
        }
        std::size_t torn = 0;
        out.book = redrive::read_journal(d.text, &torn).value();
        auto const is_over = out.book.now() == redrive::run_book::phase::succeeded;
        if (out.was_killed && !is_over) {
            out.goes_on = true;
            life second(engine, time, d, options, 0);
            BOOST_REQUIRE(time.run_until_done(second.io, 24h, [&] { return second.report.has_value(); }));
            BOOST_REQUIRE(second.report->has_value());
            out.end = second.report->value();
        }
        out.book = redrive::read_journal(d.text, &torn).value();
        BOOST_TEST(torn == 0u);
        return out;
    }

    /// Kills the run at each of its points, and wants the rest to be done as soon as a lease has ended.
    void end_soon_everywhere()
    {
        auto const soon = options.visibility_timeout + 10s;
        for (int at = 0, points = 1; at <= points; ++at) {
            BOOST_TEST_CONTEXT("killed at point " << at)
            {
                kill(10);
                auto const got = live(at);
                if (at == 0) points = got.points;
                if (got.goes_on) BOOST_TEST(got.end.took < soon);
                BOOST_TEST(got.end.elsewhere == 0u);
                BOOST_TEST(all(dead) == 0);
                BOOST_TEST(bodies(orders).size() == 10u);
            }
        }
    }

    /// Kills the run at each of its points. `bear`: the messages that die first.
    void kill_everywhere(std::function<void()> const& bear, std::size_t messages)
    {
        int points = 1;
        for (int at = 0; at <= points; ++at) {
            BOOST_TEST_CONTEXT("killed at point " << at)
            {
                bear();
                auto const got = live(at);
                if (at == 0) {
                    points = got.points;
                    BOOST_TEST(points > 20);
                    BOOST_TEST(!got.was_killed);
                    BOOST_TEST(got.end.maybe_twice == 0u);
                }
                auto const counts = got.book.counts();
                BOOST_TEST(got.book.now() == redrive::run_book::phase::succeeded);
                BOOST_TEST(all(dead) == 0);
                time.run_for(io, 20min); // what is delayed
                auto there = bodies(orders);
                for (auto const& [body, times] : bodies(poison))
                    there[body] += times;
                BOOST_TEST(there.size() == messages); // lost: none
                std::size_t twice = 0;
                for (auto const& [body, times] : there)
                    twice += static_cast<std::size_t>(times - 1);
                BOOST_TEST(twice <= counts.maybe_twice); // each was marked
                BOOST_TEST(counts.maybe_twice <= options.concurrency);
                BOOST_TEST(counts.redriven + counts.isolated == messages);
                BOOST_TEST(counts.deleted == messages);
                if (got.was_killed && !got.goes_on) continue; // at its very end
                // The report is what the history says.
                BOOST_TEST(got.end.redriven == counts.redriven);
                BOOST_TEST(got.end.isolated == counts.isolated);
                BOOST_TEST(got.end.deleted == counts.deleted);
                BOOST_TEST(got.end.maybe_twice == counts.maybe_twice);
            }
        }
    }
};

/// Two runs one after the other, of which the first has a limit.
struct limited_graveyard : graveyard {
    using graveyard::graveyard;

    void kill_everywhere_and_redrive_the_rest()
    {
        int points = 1;
        for (int at = 0; at <= points; ++at) {
            BOOST_TEST_CONTEXT("killed at point " << at)
            {
                kill(5);
                options.speed.limit = 2;
                auto const first = live(at);
                if (at == 0) points = first.points;
                auto const counts = first.book.counts();
                BOOST_TEST(counts.redriven == 2u);
                BOOST_TEST(counts.deleted == 2u);
                BOOST_TEST(counts.left == 0u);
                BOOST_TEST(all(dead) == 3);
                options.speed.limit.reset();
                auto const second = live(0).book.counts();
                BOOST_TEST(second.redriven == 3u);
                auto const there = bodies(orders);
                BOOST_TEST(there.size() == 5u);
                std::size_t twice = 0;
                for (auto const& [body, times] : there)
                    twice += static_cast<std::size_t>(times - 1);
                BOOST_TEST(twice <= counts.maybe_twice);
            }
        }
    }
};

struct fifo_graveyard : graveyard {
    fifo_graveyard() : graveyard(".fifo") {}
};

} // namespace

BOOST_AUTO_TEST_SUITE(redriver_killed)

BOOST_FIXTURE_TEST_CASE(a_kill_at_any_point_loses_nothing_and_marks_what_may_be_twice, graveyard)
{
    options.poison_url = poison;
    options.concurrency = 4;
    options.plan.max_attempts = 2;
    auto const bear = [this] {
        kill(10);
        auto worn = letter(dead, "worn out");
        worn.attributes["x-redrive-attempt"] = {"Number", "2"};
        send(dead, worn);
    };
    kill_everywhere(bear, 11);
}

// It went on for up to two minutes after the last message: what it had deleted before the kill might have come again.
BOOST_FIXTURE_TEST_CASE(a_run_that_goes_on_ends_when_its_queue_is_known_to_be_empty, graveyard)
{
    options.concurrency = 4;
    end_soon_everywhere();
}

// It stayed hidden for twelve hours, whoever went on with the run and cancelled it.
BOOST_FIXTURE_TEST_CASE(what_a_killed_process_hid_is_given_back_by_the_next, graveyard)
{
    options.plan.waits = true;
    options.plan.delay_base = 24h;
    options.plan.delay_max = 24h;
    kill(3);
    disk d;
    {
        life first(engine, time, d, options, 0);
        time.run_for(first.io, 5min);
    }
    time.run_for(io, options.wait_time + 1s); // the receive that it had begun, which would take them
    BOOST_TEST(in_flight(dead) == 3);
    BOOST_TEST(redrive::read_journal(d.text).value().hidden(time.wall()).size() == 3u);
    life second(engine, time, d, options, 0);
    second.driver.stop();
    BOOST_REQUIRE(time.run_until_done(second.io, 2min, [&] { return second.report.has_value(); }));
    BOOST_REQUIRE(second.report->has_value());
    BOOST_TEST(second.report->value().still_hidden == 0u);
    BOOST_TEST(in_flight(dead) == 0);
    BOOST_TEST(count(dead) == 3);
}

BOOST_FIXTURE_TEST_CASE(a_fifo_queue_has_each_message_once_wherever_the_kill_comes, fifo_graveyard)
{
    options.concurrency = 4;
    kill_everywhere([this] { kill(6); }, 6);
}

// A run that had its number was over at once, and left in the queue what it had sent: the next one sent it again.
BOOST_FIXTURE_TEST_CASE(a_limit_that_was_reached_ends_no_run_before_what_was_sent_is_deleted, limited_graveyard)
{
    options.concurrency = 2;
    kill_everywhere_and_redrive_the_rest();
}

BOOST_AUTO_TEST_SUITE_END()
