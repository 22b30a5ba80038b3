#pragma once

#include <quern/producer/producer.hpp>
#include <quern/sim/local_api.hpp>
#include <quern/sim/virtual_clock.hpp>

#include "support/stub_api.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace quern::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// SendMessageBatch that takes its time and may fail before it is carried out, or lose its answer.
class slow_api : public stub_api {
public:
    using hook = std::function<std::optional<failure>()>;

    slow_api(sqs::api& real, clock& time) : real_(real), time_(time) {}

    answer<sqs::send_message_batch_response> send_message_batch(sqs::send_message_batch_request r) override
    {
        ++calls;
        most_under_way = std::max(most_under_way, ++under_way);
        messages_under_way += r.entries.size();
        most_messages = std::max(most_messages, messages_under_way);
        struct leave {
            slow_api& it;
            std::size_t messages;
            ~leave()
            {
                --it.under_way;
                it.messages_under_way -= messages;
            }
        } const left{*this, r.entries.size()};
        for (auto const& entry : r.entries)
            ids[entry.body].push_back(entry.deduplication_id.value_or(""));

        auto const timer = time_.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(time_.now() + latency);
        if (auto const why = before()) co_return *why;
        auto said = co_await real_.send_message_batch(std::move(r));
        if (auto const why = after()) co_return *why;
        co_return said;
    }

    answer<sqs::queue_url_response> get_queue_url(sqs::get_queue_url_request r) override
    {
        ++looked_for;
        if (auto const why = before()) co_return *why;
        co_return co_await real_.get_queue_url(std::move(r));
    }
    std::string_view region() const override { return "us-east-1"; }

    std::chrono::milliseconds latency{20};
    int looked_for = 0;
    hook before = [] { return std::optional<failure>(); }, after = before;
    std::size_t calls = 0, under_way = 0, most_under_way = 0, messages_under_way = 0, most_messages = 0;
    std::map<std::string, std::vector<std::string>> ids; // body -> deduplication id of each attempt

private:
    sqs::api& real_;
    clock& time_;
};

/// A queue, a producer, and what became of each message.
struct workshop {
    using sent = result<sqs::send_message_response>;

    sim::virtual_clock time;
    broker::engine engine{broker::engine_options{.seed = 1}};
    asio::io_context io; // last: what it destroys still refers to the clock
    std::optional<sim::local_api> local{std::in_place, engine, time, io.get_executor()};
    slow_api api{*local, time};
    std::string url;
    producer_options options;
    std::optional<producer> it;
    std::map<std::string, sent> results; // by body

    explicit workshop(bool fifo = false, bool content_based = false)
    {
        sqs::create_queue_request wanted(fifo ? "letters.fifo" : "letters");
        if (fifo) wanted.attributes["FifoQueue"] = "true";
        if (content_based) wanted.attributes["ContentBasedDeduplication"] = "true";
        url = engine.create_queue(wanted, time.wall()).value().queue_url;
        options.time = &time;
        options.seed = 7;
        options.content_based_deduplication = content_based;
    }

    void produce() { it.emplace(io.get_executor(), api, url, options); }

    void spawn(asio::awaitable<void> work)
    {
        asio::co_spawn(io, std::move(work), [](std::exception_ptr e) {
            if (e) std::rethrow_exception(e);
        });
    }

    asio::awaitable<void> send_one(sqs::send_message_entry entry)
    {
        auto const body = entry.body;
        auto how = co_await it->send(std::move(entry));
        auto const fresh = results.emplace(body, std::move(how)).second;
        BOOST_TEST(fresh, "two answers for " << body);
    }

    void send(std::string body, std::optional<std::string> group = {})
    {
        sqs::send_message_entry entry(std::move(body));
        entry.group_id = std::move(group);
        spawn(send_one(std::move(entry)));
    }

    void send_many(int count, std::string const& prefix = "m")
    {
        for (int i = 0; i < count; ++i)
            send(prefix + std::to_string(i));
    }

    template <class T, class Done>
    void ask(asio::awaitable<T> what, Done done)
    {
        asio::co_spawn(io, std::move(what), [done](std::exception_ptr e, T value) {
            if (e) std::rethrow_exception(e);
            done(value);
        });
    }

    bool until(std::chrono::milliseconds limit, std::function<bool()> done)
    {
        return time.run_until_done(io, limit, done);
    }
    bool until_sent(std::size_t count, std::chrono::milliseconds limit = 2min)
    {
        return until(limit, [=, this] { return results.size() == count; });
    }
    void pass(std::chrono::milliseconds d) { time.run_for(io, d); }

    std::size_t confirmed() const
    {
        return static_cast<std::size_t>(
            std::count_if(results.begin(), results.end(), [](auto const& each) { return each.second.has_value(); }));
    }

    errc error_of(std::string const& body)
    {
        auto const& how = results.at(body);
        BOOST_REQUIRE(how.has_error());
        return static_cast<errc>(how.error().code.value());
    }

    /// Takes everything out of the queue: bodies in the order of delivery.
    std::vector<std::string> take_all()
    {
        std::vector<std::string> out;
        while (true) {
            sqs::receive_message_request ask(url);
            ask.wait_time = 0s;
            auto const got = engine.receive_message(ask, time.wall()).value();
            if (got.answer.messages.empty()) return out;
            for (auto const& message : got.answer.messages) {
                out.emplace_back(message.body);
                sqs::delete_message_request done(url, std::string(message.receipt_handle));
                engine.delete_message(done, time.wall()).value();
            }
        }
    }

    ~workshop()
    {
        it.reset();
        pass(1min);
        local.reset();
        pass(0s);
    }
};

inline failure transport(errc what)
{
    return failure(what, "as told by the test", true);
}

} // namespace quern::test
