#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/strand.hpp>

#include <memory>
#include <utility>

namespace quern {

/// A strand that fits into any_io_executor as it is. Asio's own does not (1.81): each coroutine, and each operation that one
/// waits for, puts a copy of it on the heap, half a kilobyte for a handler that waits for a timer.
///
/// Threads  any, as asio::strand.
class compact_strand {
public:
    using whole = boost::asio::strand<boost::asio::any_io_executor>;

    /// (No constructor: Asio would try it on every copy.)
    static compact_strand on(boost::asio::any_io_executor inner)
    {
        return {std::make_shared<whole const>(boost::asio::make_strand(std::move(inner))), false};
    }

    boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept
    {
        return strand_->get_inner_executor().query(boost::asio::execution::context);
    }
    boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept
    {
        if (never_blocks_) return boost::asio::execution::blocking.never;
        return boost::asio::execution::blocking.possibly;
    }
    compact_strand require(boost::asio::execution::blocking_t::never_t) const { return {strand_, true}; }
    compact_strand require(boost::asio::execution::blocking_t::possibly_t) const { return {strand_, false}; }

    template <class F>
    void execute(F&& f) const
    {
        if (never_blocks_)
            boost::asio::require(*strand_, boost::asio::execution::blocking.never).execute(std::forward<F>(f));
        else
            strand_->execute(std::forward<F>(f));
    }

    friend bool operator==(compact_strand const& a, compact_strand const& b) noexcept
    {
        return a.strand_ == b.strand_ && a.never_blocks_ == b.never_blocks_;
    }

private:
    compact_strand(std::shared_ptr<whole const> of, bool never_blocks)
        : strand_(std::move(of)), never_blocks_(never_blocks)
    {}

    std::shared_ptr<whole const> strand_;
    bool never_blocks_ = false;
};
static_assert(sizeof(compact_strand) <= sizeof(std::shared_ptr<void>) + sizeof(void*));

} // namespace quern
