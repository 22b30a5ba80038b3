#pragma once

#include <quern/broker/server.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <cstdlib>
#include <future>
#include <string>
#include <thread>

namespace quern::test {

/// A broker behind real sockets and real time, on a thread of its own. The environment names it to clients made without
/// options.
class live_broker {
    template <class F>
    auto on_its_thread(F f)
    {
        std::packaged_task<decltype(f())()> task(std::move(f));
        auto out = task.get_future();
        boost::asio::post(io_, [&task] { task(); });
        return out.get();
    }

public:
    live_broker() : server_(io_.get_executor(), unsigned_on_any_port())
    {
        server_.listen().value();
        ::setenv("AWS_REGION", "us-east-1", 1);
        ::setenv("AWS_ACCESS_KEY_ID", "quern", 1);
        ::setenv("AWS_SECRET_ACCESS_KEY", "quern", 1);
        ::setenv("AWS_ENDPOINT_URL_SQS", server_.url().c_str(), 1);
        thread_ = std::thread([this] { io_.run(); });
    }
    ~live_broker()
    {
        boost::asio::co_spawn(io_, server_.stop(std::chrono::milliseconds(0)), boost::asio::use_future).get();
        work_.reset();
        thread_.join();
    }
    live_broker(live_broker const&) = delete;
    live_broker& operator=(live_broker const&) = delete;

    /// Runs f(engine, now) on the broker's thread.
    template <class F>
    auto ask(F f)
    {
        return on_its_thread([&] {
            struct settle {
                broker::server& server;
                ~settle() { server.settle(); }
            } const after{server_};
            return f(server_.queues(), server_.now());
        });
    }

    std::size_t parked_polls()
    {
        return on_its_thread([this] { return server_.counters().parked_polls; });
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
    static broker::server_options unsigned_on_any_port()
    {
        broker::server_options out;
        out.check_signatures = false;
        out.port = 0;
        return out;
    }

    boost::asio::io_context io_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_ = make_work_guard(io_);
    broker::server server_;
    std::thread thread_;
    int sent_ = 0;
};

} // namespace quern::test
