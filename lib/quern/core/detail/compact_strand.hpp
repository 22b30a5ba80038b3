#pragma once

#include <quern/core/task.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>

#include <memory>
#include <utility>

namespace quern::detail {

/// A strand that fits into any_io_executor as it is, over any executor. Asio's own does not fit (1.81): each
/// coroutine, and each operation that one waits for, puts a copy of it on the heap, half a kilobyte for a handler
/// that waits for a timer. And over any_io_executor it asks that one for a property each time it is used, which
/// allocates.
///
/// Posted functions run in their order, never two at once. A function dispatched from within runs at once; from
/// outside, at once when the strand is idle and the executor beneath allows it. When a function throws, the exception
/// goes to whoever runs the context, and the rest runs later.
///
/// Work     a strand is none: a context may run out of work while a coroutine on it waits for something elsewhere.
/// Threads  any, as asio::strand.
class compact_strand {
public:
    /// (No constructor: Asio would try it on every copy.)
    static compact_strand on(boost::asio::any_io_executor inner);

    boost::asio::any_io_executor const& inner() const;

    /// The same for all copies, and for nothing else while one exists.
    void const* id() const { return queue_.get(); }

    boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept;
    boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept
    {
        if (never_blocks_) return boost::asio::execution::blocking.never;
        return boost::asio::execution::blocking.possibly;
    }
    compact_strand require(boost::asio::execution::blocking_t::never_t) const { return {queue_, true}; }
    compact_strand require(boost::asio::execution::blocking_t::possibly_t) const { return {queue_, false}; }

    template <class F>
    void execute(F f) const
    {
        if (!never_blocks_ && is_running_here())
            f();
        else
            enqueue(task(std::move(f)));
    }

    friend bool operator==(compact_strand const& a, compact_strand const& b) noexcept
    {
        return a.queue_ == b.queue_ && a.never_blocks_ == b.never_blocks_;
    }

private:
    class queue;

    compact_strand(std::shared_ptr<queue> of, bool never_blocks) : queue_(std::move(of)), never_blocks_(never_blocks)
    {}

    bool is_running_here() const;
    void enqueue(task) const;

    std::shared_ptr<queue> queue_;
    bool never_blocks_ = false;
};
static_assert(sizeof(compact_strand) <= sizeof(std::shared_ptr<void>) + sizeof(void*));

} // namespace quern::detail
