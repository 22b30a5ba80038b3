// A kill after every write of the journal and at every call, before it and after: nothing is lost, and what is there twice
// was marked.

#include "redrive/yard.hpp"

#include <quern/redrive/journal.hpp>

#include <set>

using namespace quern;
using namespace quern::test;

namespace {

/// A process that is killed at one of its points.
struct doom {
    int at = 0; // counted from 1; 0: never
    int seen = 0;
    bool is_dead = false;

    /// Whether this is the point; dead is dead.
    bool strikes()
    {
        is_dead = is_dead || ++seen == at;
        return is_dead;
    }
};

/// Calls of a process that may die before the request has reached the service, or after it was carried out.
class mortal_api : public sqs::forwarding_api<mortal_api> {
public:
    mortal_api(sqs::api& real, doom& end, quern::clock& time, asio::any_io_executor ex)
        : real_(real), end_(end), time_(time), ex_(std::move(ex))
    {}

    template <class Request>
    sqs::answer<typename Request::response> carry(Request r)
    {
        quern::alarm never(time_, ex_);
        constexpr bool counts = Request::operation != std::string_view("GetQueueAttributes");
        if (end_.is_dead || (counts && end_.strikes())) co_await never.wait();
        auto said = co_await sqs::perform(real_, std::move(r));
        if (end_.is_dead || (counts && end_.strikes())) co_await never.wait();
        co_return said;
    }

private:
    sqs::api& real_;
    doom& end_;
    quern::clock& time_;
    asio::any_io_executor ex_;
};

/// A disk on which a write may be cut by a kill: none of it, half of it, all of it.
struct disk {
    std::string text;
    std::size_t appends = 0;
};
class mortal_file final : public redrive::journal_file {
public:
    mortal_file(disk& on, doom& end) : on_(on), end_(end) {}

    result<std::string> read() override { return on_.text; }
    result<void> append(std::string_view text) override
    {
        failure const dead(errc::stopped, "dead");
        ++on_.appends;
        if (end_.strikes()) return dead;
        if (end_.strikes()) {
            on_.text += text.substr(0, text.size() / 2);
            return dead;
        }
        on_.text += text;
        if (end_.strikes()) return dead;
        return {};
    }
    result<void> cut(std::size_t size) override
    {
        on_.text.resize(size);
        return {};
    }
    bool is_cancelled() override { return false; }

private:
    disk& on_;
    doom& end_;
};

struct context : asio::io_context {
    using asio::execution_context::shutdown;
};

/// A process: all that a kill takes.
struct life {
    context io;
    sim::local_api local;
    doom end;
    mortal_api api;
    redrive::journal record;
    redrive::redriver driver;
    std::optional<result<redrive::report>> report;

    static redrive::options with(redrive::options o, redrive::journal& j)
    {
        o.record = &j;
        return o;
    }

    life(broker::engine& engine, sim::virtual_clock& time, disk& d, redrive::options const& o, int dies_at)
        : local(engine, time, io.get_executor()), end{dies_at}, api(local, end, time, io.get_executor()),
          record(redrive::journal::open(std::make_unique<mortal_file>(d, end)).value()),
          driver(io.get_executor(), api, with(o, record))
    {
        asio::co_spawn(io, driver.run(), [this](std::exception_ptr bug, result<redrive::report> said) {
            if (bug) std::rethrow_exception(bug);
            report = std::move(said);
        });
    }
    ~life() { io.shutdown(); }
};

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
                BOOST_TEST((got.book.now() == redrive::run_book::phase::succeeded));
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

BOOST_FIXTURE_TEST_CASE(a_fifo_queue_has_each_message_once_wherever_the_kill_comes, fifo_graveyard)
{
    options.concurrency = 4;
    kill_everywhere([this] { kill(6); }, 6);
}

BOOST_AUTO_TEST_SUITE_END()
