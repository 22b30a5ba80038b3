#pragma once

#include <quern/consumer/consumer.hpp>
#include <quern/sim/local_api.hpp>
#include <quern/sim/virtual_clock.hpp>
#include <quern/sqs/batch.hpp>

#include "support/stub_api.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <map>

namespace quern::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// The operations of a consumer, each preceded by a hook that may fail it.
class hooked_api : public stub_api {
public:
    using hook = std::function<std::optional<failure>()>;

    explicit hooked_api(sqs::api& real) : real_(real) {}

    answer<sqs::receive_message_response> receive_message(sqs::receive_message_request r) override
    {
        ++receives;
        if (auto f = on_receive()) co_return *f;
        auto said = co_await real_.receive_message(std::move(r));
        if (said) co_await before_received(*said);
        if (lose_answer()) co_return failure(errc::connection_lost, "the answer is lost", true);
        if (said) on_received(*said);
        co_return said;
    }
    answer<sqs::delete_message_batch_response> delete_message_batch(sqs::delete_message_batch_request r) override
    {
        ++deletes;
        if (auto f = on_delete()) co_return *f;
        auto said = co_await real_.delete_message_batch(std::move(r));
        co_await before_deleted();
        co_return said;
    }
    answer<sqs::change_message_visibility_batch_response> change_message_visibility_batch(
        sqs::change_message_visibility_batch_request r) override
    {
        ++changes;
        if (auto f = on_change()) co_return *f;
        auto said = co_await real_.change_message_visibility_batch(std::move(r));
        co_await before_answer();
        co_return said;
    }

    answer<sqs::send_message_batch_response> send_message_batch(sqs::send_message_batch_request r) override
    {
        if (auto f = on_send()) co_return *f;
        co_return co_await real_.send_message_batch(std::move(r));
    }

    answer<sqs::attributes_response> get_queue_attributes(sqs::get_queue_attributes_request r) override
    {
        if (auto f = on_attributes()) co_return *f;
        co_return co_await real_.get_queue_attributes(std::move(r));
    }

    answer<sqs::queue_url_response> get_queue_url(sqs::get_queue_url_request r) override
    {
        looked_for.push_back(r);
        if (auto f = on_look_up()) co_return *f;
        co_await before_look_up();
        co_return co_await real_.get_queue_url(std::move(r));
    }

    std::chrono::milliseconds clock_offset() const override { return offset; }
    std::string_view region() const override { return where; }

    std::string where; // empty: not known

    std::chrono::milliseconds offset{}; // of the service's clock
    hook on_receive = [] { return std::optional<failure>(); }, on_delete = on_receive, on_change = on_receive,
         on_send = on_receive, on_attributes = on_receive, on_look_up = on_receive;
    std::function<bool()> lose_answer = [] { return false; };
    std::function<void(sqs::receive_message_response&)> on_received = [](auto&) {};
    std::function<asio::awaitable<void>(sqs::receive_message_response&)> before_received =
        [](auto&) -> asio::awaitable<void> { co_return; };
    std::function<asio::awaitable<void>()> before_answer = []() -> asio::awaitable<void> { co_return; },
                                           before_deleted = before_answer, before_look_up = before_answer;
    std::vector<sqs::get_queue_url_request> looked_for;
    int receives = 0, deletes = 0, changes = 0;

private:
    sqs::api& real_;
};

/// Sees to it that the events of each message come in order. Every consumer of a mill has one.
struct life_watch : observer {
    enum class place { here, begun, ended };
    std::map<std::string, place> lives;

    void expect(observed_message const& m, bool (*right)(place), char const* what)
    {
        auto const at = lives.find(std::string(m.id));
        BOOST_TEST((at != lives.end() && right(at->second)), what << " out of order");
    }

    void received(observed_message const& m) override
    {
        BOOST_TEST(lives.emplace(m.id, place::here).second, "received twice");
    }
    void began(observed_message const& m) override
    {
        expect(
            m, [](place p) { return p != place::begun; }, "began");
        lives[std::string(m.id)] = place::begun;
    }
    void ended(observed_message const& m, handler_end, outcome::kind) override
    {
        expect(
            m, [](place p) { return p == place::begun; }, "ended");
        lives[std::string(m.id)] = place::ended;
    }
    void lease_extended(observed_message const& m, std::chrono::seconds) override
    {
        expect(
            m, [](place) { return true; }, "lease_extended");
    }
    void lease_lost(observed_message const& m) override
    {
        expect(
            m, [](place) { return true; }, "lease_lost");
    }
    void settled(observed_message const& m, message_end, std::chrono::seconds) override
    {
        expect(
            m, [](place p) { return p != place::begun; }, "settled");
        lives.erase(std::string(m.id));
    }
    void drain_ended(drain_report const&) override { lives.clear(); }
};

/// A queue, a consumer, and all the time in the world.
struct mill {
    sim::virtual_clock time;
    broker::engine engine{broker::engine_options{.seed = 1}};
    asio::io_context io; // last: what it destroys still refers to the clock
    std::optional<sim::local_api> local{std::in_place, engine, time, io.get_executor()};
    hooked_api api{*local};
    std::string url;
    consumer_options options;
    std::vector<std::string> log;
    std::map<std::string, int> runs; // message body -> handlers started
    std::size_t running = 0, most_running = 0;
    std::optional<consumer> it;
    std::optional<drain_report> report;

    mill()
    {
        url = engine.create_queue(sqs::create_queue_request("orders"), time.wall()).value().queue_url;
        options.time = &time;
        options.seed = 7;
        options.observer = std::make_shared<life_watch>();
        options.log = [this](log_level, std::string_view text) { log.emplace_back(text); };
    }

    void send(int count)
    {
        for (int i = 0; i < count; ++i) {
            sqs::send_message_request request(url, "m" + std::to_string(sent++));
            engine.send_message(std::move(request), time.wall()).value();
        }
    }

    /// Through the service, so that a receive that waits is answered.
    void send_now(int count)
    {
        for (int i = 0; i < count; ++i) {
            sqs::send_message_request request(url, "m" + std::to_string(sent++));
            asio::co_spawn(io, local->send_message(std::move(request)), [](std::exception_ptr, auto const&) {});
        }
    }

    template <class F>
    void consume(F handle)
    {
        auto counted = [this, handle](delivery& d) mutable -> asio::awaitable<outcome> {
            ++runs[std::string(d.body())];
            most_running = std::max(most_running, ++running);
            struct leave {
                std::size_t& count;
                ~leave() { --count; }
            } const left{running};
            auto const said = co_await handle(d);
            co_return said;
        };
        it.emplace(io.get_executor(), api, url, std::move(counted), options);
        it->start();
    }

    void send_now(std::string body)
    {
        sqs::send_message_request request(url, std::move(body));
        asio::co_spawn(io, local->send_message(std::move(request)), [](std::exception_ptr, auto const&) {});
        ++sent;
    }

    /// A queue that gives up on a message after so many receives; returns its dead-letter queue.
    std::string allow_receives(std::string const& most)
    {
        auto const dead = engine.create_queue(sqs::create_queue_request("dead"), time.wall()).value().queue_url;
        sqs::set_queue_attributes_request redrive;
        redrive.queue_url = url;
        redrive.attributes["RedrivePolicy"] =
            R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":)" + most + "}";
        engine.set_queue_attributes(redrive, time.wall()).value();
        return dead;
    }

    int in(std::string const& queue)
    {
        sqs::get_queue_attributes_request ask(queue);
        return std::stoi(
            engine.get_queue_attributes(ask, time.wall()).value().attributes.at("ApproximateNumberOfMessages"));
    }

    std::string explained()
    {
        std::string out;
        asio::co_spawn(
            io, it->explain(), [&](std::exception_ptr, explanation const& said) { out = to_string(said); });
        time.run_for(io, 0s);
        return out;
    }

    int log_lines(std::string_view beginning) const
    {
        return static_cast<int>(
            std::ranges::count_if(log, [&](auto const& line) { return line.starts_with(beginning); }));
    }

    asio::awaitable<void> pause(std::chrono::milliseconds d)
    {
        auto const timer = time.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(time.now() + d);
    }

    int count(char const* what)
    {
        sqs::get_queue_attributes_request ask(url);
        return std::stoi(engine.get_queue_attributes(ask, time.wall()).value().attributes.at(what));
    }
    int visible() { return count("ApproximateNumberOfMessages"); }
    int hidden() { return count("ApproximateNumberOfMessagesNotVisible"); }
    bool empty() { return visible() + hidden() == 0; }

    bool until(std::chrono::milliseconds limit, std::function<bool()> done)
    {
        return time.run_until_done(io, limit, done);
    }

    void begin_drain(std::chrono::milliseconds limit)
    {
        asio::co_spawn(io, it->drain(limit), [this](std::exception_ptr e, drain_report r) {
            BOOST_TEST(!e);
            report = r;
        });
    }

    drain_report drained(std::chrono::milliseconds limit = 30s)
    {
        begin_drain(limit);
        BOOST_REQUIRE(until(limit + 1s, [this] { return report.has_value(); }));
        BOOST_TEST(it->in_flight() == report->running + report->stranded + report->at_risk);
        return *report;
    }

    ~mill()
    {
        if (it && !report) {
            begin_drain(1s);
            until(2s, [this] { return report.has_value(); });
        }
        it.reset();
        local.reset();
        time.run_for(io, 0s);
    }

    int sent = 0;
};

/// Acknowledges at once.
inline asio::awaitable<outcome> fast(delivery&)
{
    co_return ack();
}

} // namespace quern::test
