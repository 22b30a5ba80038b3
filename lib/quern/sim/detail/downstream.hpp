#pragma once

#include <quern/core/clock.hpp>
#include <quern/sim/scenario.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <deque>
#include <memory>

namespace quern::sim::detail {

/// A service that the handlers of all processes call. It works on so many calls at once, in the order in which they
/// came; what it has begun it ends, though nobody may wait for it any more.
class downstream {
public:
    /// The day outlives it.
    downstream(scenario const&, clock&, boost::asio::any_io_executor);

    /// Has as many servers as the day says, whenever it says so.
    boost::asio::awaitable<void> change_servers();

    /// Ends when the call is done. Throws operation_aborted when the caller is cancelled.
    boost::asio::awaitable<void> call(std::chrono::milliseconds takes);

private:
    struct job {
        std::chrono::milliseconds takes;
        timer* caller = nullptr; ///< waits for it; null: nobody does
        bool is_done = false;
    };

    void serve();
    boost::asio::awaitable<void> work(std::shared_ptr<job>);

    clock& time_;
    boost::asio::any_io_executor executor_;
    scenario const& day_;
    std::size_t servers_ = 0, busy_ = 0;
    std::deque<std::shared_ptr<job>> line_;
};

} // namespace quern::sim::detail
