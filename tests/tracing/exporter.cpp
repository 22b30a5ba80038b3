#include <quern/sim/virtual_clock.hpp>
#include <quern/tracing/span_exporter.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <thread>
#include <vector>

using namespace quern;
using namespace quern::tracing;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

/// Takes so long for each export, and answers what it is told to.
struct receiver final : span_destination {
    explicit receiver(quern::clock& t) : time(t) {}

    asio::awaitable<span_answer> send(std::vector<telemetry::span> const& spans) override
    {
        at.push_back(time.now());
        auto const timer = time.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(time.now() + takes);
        if (!answer.why)
            for (auto const& s : spans)
                got.push_back(s.name);
        co_return answer;
    }

    quern::clock& time;
    std::chrono::milliseconds takes{0};
    span_answer answer;
    std::vector<tick> at;
    std::vector<std::string> got;
};

struct stand {
    sim::virtual_clock time;
    asio::io_context io;
    tracer spans{options(), time, 7};
    receiver to{time};
    std::vector<std::string> log;
    std::size_t dropped = 0;
    std::optional<span_exporter> it;
    bool ended = false;
    tick const t0 = time.now();
    int count = 0;

    static telemetry::trace_options options()
    {
        telemetry::trace_options out;
        out.batch = 3;
        out.buffer = 6;
        return out;
    }

    stand()
    {
        span_exporter_options how;
        how.dropped = [this](std::size_t n) { dropped += n; };
        how.log = [this](log_level, std::string_view text) { log.emplace_back(text); };
        it.emplace(io.get_executor(), spans, to, how);
        asio::co_spawn(io, it->run(), [this](std::exception_ptr e) {
            BOOST_TEST(!e);
            ended = true;
        });
        time.run_for(io, 0s);
    }

    void make(int n)
    {
        for (int i = 0; i < n; ++i) {
            telemetry::span s;
            s.name = std::to_string(++count);
            s.self = spans.begin(nullptr);
            spans.end(std::move(s));
        }
    }

    std::vector<int> milliseconds() const
    {
        std::vector<int> out;
        for (auto const at : to.at)
            out.push_back(static_cast<int>((at - t0) / 1ms));
        return out;
    }

    std::string names() const
    {
        std::string out;
        for (auto const& one : to.got)
            out += one;
        return out;
    }

    void end()
    {
        it->end();
        time.run_for(io, 1min);
        BOOST_TEST(ended);
    }
};

failure away()
{
    return failure(errc::connect_failed, "nobody there", true);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(exporting, stand)

BOOST_AUTO_TEST_CASE(spans_go_when_it_is_time_and_none_are_no_export)
{
    time.run_for(io, 12s);
    BOOST_TEST(to.at.empty());
    make(2);
    time.run_for(io, 10s);
    BOOST_TEST(milliseconds() == std::vector<int>{15'000}, boost::test_tools::per_element());
    BOOST_TEST(names() == "12");
    end();
}

BOOST_AUTO_TEST_CASE(enough_of_them_go_at_once_and_a_crowd_in_several_exports)
{
    time.run_for(io, 1s);
    make(3);
    time.run_for(io, 0s);
    make(6);
    time.run_for(io, 0s);
    BOOST_TEST(milliseconds() == (std::vector<int>{1'000, 1'000, 1'000}), boost::test_tools::per_element());
    BOOST_TEST(names() == "123456789");
    BOOST_TEST(dropped == 0u);
    end();
}

BOOST_AUTO_TEST_CASE(a_span_that_ends_on_another_thread_goes_too)
{
    std::thread([this] { make(3); }).join();
    time.run_for(io, 0s);
    BOOST_TEST(names() == "123");
    end();
}

BOOST_AUTO_TEST_CASE(who_is_away_for_a_moment_gets_the_same_spans_again)
{
    to.answer = span_answer(away());
    make(3);
    time.run_for(io, 2s);
    to.answer = span_answer();
    time.run_for(io, 10s);
    BOOST_TEST(milliseconds() == (std::vector<int>{0, 1'000, 3'000}), boost::test_tools::per_element());
    BOOST_TEST(names() == "123");
    BOOST_TEST(dropped == 0u);
    BOOST_TEST(log.at(0).find("not exported, and tried again") != std::string::npos, log.at(0));
    end();
}

BOOST_AUTO_TEST_CASE(who_is_away_for_long_loses_spans_which_are_counted_and_told)
{
    to.answer = span_answer(away());
    make(3);
    time.run_for(io, 0s);
    make(7); // of which six find room
    time.run_for(io, 15s + 500ms);
    BOOST_TEST(to.at.size() == 6u); // five tries, and the next three
    BOOST_TEST(dropped == 4u);
    to.answer = span_answer();
    time.run_for(io, 10s);
    BOOST_TEST(names() == "456789");
    end();
    BOOST_TEST(dropped == 4u);
}

BOOST_AUTO_TEST_CASE(what_is_refused_for_good_is_not_sent_again)
{
    to.answer = span_answer(failure(errc::service_error, "the receiver answers HTTP 400"));
    make(3);
    time.run_for(io, 1s);
    to.answer = span_answer();
    time.run_for(io, 30s);
    BOOST_TEST(to.at.size() == 1u);
    BOOST_TEST(dropped == 3u);
    BOOST_TEST(log.at(0).find("HTTP 400") != std::string::npos, log.at(0));
    end();
}

BOOST_AUTO_TEST_CASE(what_the_receiver_rejects_is_counted)
{
    to.answer.rejected = 2;
    make(3);
    time.run_for(io, 1s);
    BOOST_TEST(dropped == 2u);
    to.answer.rejected = std::size_t(-1); // more than it was sent
    make(3);
    time.run_for(io, 10s);
    BOOST_TEST(dropped == 5u);
    end();
}

BOOST_AUTO_TEST_CASE(the_end_sends_what_there_is)
{
    make(2);
    it->end();
    make(3);
    time.run_for(io, 0s);
    BOOST_TEST(ended);
    BOOST_TEST(names() == "12345");
    BOOST_TEST(milliseconds() == (std::vector<int>{0, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_end_waits_for_an_export_under_way_and_tries_nothing_twice)
{
    to.takes = 2s;
    to.answer = span_answer(away());
    make(3);
    time.run_for(io, 1s);
    make(5);
    it->end();
    time.run_for(io, 10s);
    BOOST_TEST(ended);
    BOOST_TEST(milliseconds() == (std::vector<int>{0, 2'000}), boost::test_tools::per_element());
    BOOST_TEST(dropped == 8u);
}

BOOST_AUTO_TEST_SUITE_END()
