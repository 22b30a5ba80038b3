#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/task.hpp>

#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace quern::sim {

/// Threads on which a plain function lasts for a while of virtual time. Each has a stack, so it is a real one; but
/// they run one at a time, and only while run() waits for them, so the same seed is the same day.
///
/// Lifetime  shorter than that of the context and the clock. Its end throws `over` into what stands still on a
///           thread, and drops what waits for one.
/// Threads   run() and the end: that which runs the context. stand_still(): these.
class virtual_threads final : public boost::asio::execution_context {
public:
    struct over {};

    class executor_type {
    public:
        explicit executor_type(virtual_threads& of) : of_(&of) {}

        boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept { return *of_; }
        boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept
        {
            return boost::asio::execution::blocking.never;
        }
        executor_type require(boost::asio::execution::blocking_t::never_t) const { return *this; }

        template <class F>
        void execute(F f) const
        {
            of_->tasks_.emplace_back(std::move(f));
        }

        friend bool operator==(executor_type const&, executor_type const&) noexcept = default;

    private:
        virtual_threads* of_;
    };

    /// The context runs the timers of what stands still.
    virtual_threads(boost::asio::io_context& timers, clock& time, std::size_t count)
        : timers_(timers), time_(time), threads_(count)
    {}
    ~virtual_threads();

    executor_type get_executor() { return executor_type(*this); }

    /// Does what can be done at this moment: goes on with what has stood still for long enough, and begins one task
    /// on each thread that is free. Returns the number of these.
    std::size_t run();

    /// Called by a task: its thread is occupied for so long.
    void stand_still(std::chrono::milliseconds);

private:
    struct one {
        std::thread os;
        std::condition_variable told;
        std::optional<tick> until; // it stands still
    };

    void live(one&);
    void give_turn(one&);
    void wait_for_turn(one&);
    void return_turn();
    void yield(one&);

    boost::asio::io_context& timers_;
    clock& time_;
    std::deque<quern::detail::task> tasks_;
    std::deque<one> threads_; // begun when first needed
    std::mutex door_;
    one* turn_ = nullptr; // null: that of whoever simulates. Who has it may touch the others of these
    std::condition_variable returned_;
    bool ending_ = false;
};

} // namespace quern::sim
