#pragma once

#include "support/wait_until.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace quern::test {

/// An io_context that four threads run, and a pool of four more. Boost.Test's macros are for the test's own thread.
struct four_threads {
    static constexpr int width = 4;

    boost::asio::io_context io{width};
    boost::asio::thread_pool pool{width};

    four_threads()
    {
        for (int i = 0; i < width; ++i)
            runners.emplace_back([this] { io.run(); });
    }

    /// Once all work is done.
    void join()
    {
        work.reset();
        for (auto& each : runners)
            each.join();
        runners.clear();
        pool.join();
    }

    /// At once: what is unfinished goes with the contexts.
    void stop()
    {
        io.stop();
        pool.stop();
        join();
    }

    ~four_threads() { stop(); }

private:
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work = make_work_guard(io);
    std::vector<std::thread> runners;
};

/// Calls f(number of the thread) on four threads again and again, until stopped.
class callers {
public:
    explicit callers(std::function<void(int)> f)
    {
        for (int name = 0; name < four_threads::width; ++name) {
            threads_.emplace_back([this, f, name] {
                while (!stopped_) {
                    f(name);
                    ++calls_;
                }
            });
        }
    }
    ~callers() { stop(); }

    void stop()
    {
        stopped_ = true;
        for (auto& each : threads_)
            each.join();
        threads_.clear();
    }

    int calls() const { return calls_; }

private:
    std::atomic<bool> stopped_{false};
    std::atomic<int> calls_{0};
    std::vector<std::thread> threads_;
};

} // namespace quern::test
