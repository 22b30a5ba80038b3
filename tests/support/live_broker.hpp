#pragma once

#include "support/server_thread.hpp"

#include <cstdlib>
#include <string>

namespace quern::test {

/// A broker behind real sockets and real time, on a thread of its own. The environment names it to clients made
/// without options.
class live_broker {
public:
    live_broker()
    {
        ::setenv("AWS_REGION", "us-east-1", 1);
        ::setenv("AWS_ACCESS_KEY_ID", "quern", 1);
        ::setenv("AWS_SECRET_ACCESS_KEY", "quern", 1);
        ::setenv("AWS_ENDPOINT_URL_SQS", on_.server.url().c_str(), 1);
    }

    /// Runs f(engine, now) on the broker's thread.
    template <class F>
    auto ask(F f)
    {
        return on_.run([&] {
            struct settle {
                broker::server& server;
                ~settle() { server.settle(); }
            } const after{on_.server};
            return f(on_.server.queues(), on_.server.now());
        });
    }

    std::size_t parked_polls()
    {
        return on_.run([this] { return on_.server.counters().parked_polls; });
    }

    std::string create(std::string const& name)
    {
        return ask([&](broker::engine& queues, broker::instant now) {
            sqs::create_queue_request wanted(name);
            if (name.ends_with(".fifo")) wanted.attributes["FifoQueue"] = "true";
            return queues.create_queue(wanted, now).value().queue_url;
        });
    }

    /// "m0", "m1", …; in a FIFO queue seven groups in turn.
    void send(std::string const& url, int count)
    {
        ask([&](broker::engine& queues, broker::instant now) {
            for (int i = 0; i < count; ++i) {
                sqs::send_message_request letter(url, "m" + std::to_string(i));
                if (url.ends_with(".fifo")) {
                    letter.group_id = "g" + std::to_string(i % 7);
                    letter.deduplication_id = "d" + std::to_string(i) + '/' + std::to_string(sent_++);
                }
                queues.send_message(std::move(letter), now).value();
            }
        });
    }

    /// Messages of the queue, whatever their state.
    std::size_t depth(std::string const& url)
    {
        return ask([&](broker::engine& queues, broker::instant now) {
            sqs::get_queue_attributes_request which(url);
            auto const told = queues.get_queue_attributes(which, now).value().attributes;
            std::size_t sum = 0;
            for (auto const* kind : {"", "NotVisible", "Delayed"})
                sum += std::stoul(told.at(std::string("ApproximateNumberOfMessages") + kind));
            return sum;
        });
    }

private:
    server_thread on_;
    int sent_ = 0;
};

} // namespace quern::test
