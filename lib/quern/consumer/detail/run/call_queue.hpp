#pragma once

#include <quern/consumer/detail/run/handler_channel.hpp>
#include <quern/core/clock.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace quern::detail {

/// Plain functions that wait for a thread. A runner, posted to where handlers run, calls one after another; as long
/// as more wait, a further one is under way, so that they use all the threads there are.
///
/// A runner that waits for a thread keeps nothing alive; one that runs keeps this.
///
/// Threads  any.
class call_queue : public std::enable_shared_from_this<call_queue> {
public:
    /// `tells`: the clock by which the strand hears when one begins; null: it need not hear.
    call_queue(std::shared_ptr<handler_channel> home, boost::asio::any_io_executor where, clock const& time,
        clock const* tells)
        : home_(std::move(home)), where_(std::move(where)), time_(time), tells_(tells)
    {}

    void add(held_ptr, handler_turn::number);

private:
    struct waiting {
        held_ptr what;
        handler_turn::number turn;
    };

    void expect_runner();
    void run();
    std::optional<waiting> next();
    void call(waiting, tick now);

    std::shared_ptr<handler_channel> const home_;
    boost::asio::any_io_executor const where_;
    clock const& time_;
    clock const* const tells_;

    std::mutex mutex_;
    std::deque<waiting> waiting_;
    std::size_t sweep_at_ = 0;
    bool expected_ = false; // a runner, as long as any wait
};

} // namespace quern::detail
