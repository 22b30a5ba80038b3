#pragma once

#include <quern/broker/server.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <future>
#include <thread>
#include <utility>

namespace quern::test {

/// A broker on a free port of the loopback, on a thread of its own.
class server_thread {
public:
    static broker::server_options unsigned_options()
    {
        broker::server_options out;
        out.check_signatures = false;
        return out;
    }

    explicit server_thread(broker::server_options options = unsigned_options(), broker::engine_options queues = {},
        clock& time = real_clock())
        : server(io_.get_executor(), on_any_port(std::move(options)), std::move(queues), time)
    {
        server.listen().value();
        thread_ = std::thread([this] { io_.run(); });
    }
    ~server_thread()
    {
        stop(std::chrono::milliseconds(0)).get();
        work_.reset();
        thread_.join();
    }

    /// Returns f() of that thread.
    template <class F>
    auto run(F f)
    {
        std::packaged_task<decltype(f())()> task(std::move(f));
        auto out = task.get_future();
        boost::asio::post(io_, [&task] { task(); });
        return out.get();
    }

    std::future<void> stop(std::chrono::milliseconds limit)
    {
        return boost::asio::co_spawn(io_, server.stop(limit), boost::asio::use_future);
    }

private:
    static broker::server_options on_any_port(broker::server_options options)
    {
        options.port = 0;
        return options;
    }

    boost::asio::io_context io_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_ = make_work_guard(io_);

public:
    broker::server server; ///< for its own thread, but for what it says of its address

private:
    std::thread thread_;
};

} // namespace quern::test
