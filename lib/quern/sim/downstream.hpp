#pragma once

#include <quern/core/clock.hpp>
#include <quern/sim/scenario.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <deque>
#include <memory>

namespace quern::sim {

/// A service that the handlers of all processes call. It works on so many calls at once, in the order in which they
/// came; what it has begun it ends, though nobody may wait for it any more.
class downstream {
public:
    /// Without servers: set_servers() says how many there are from now on.
    downstream(scenario const&, clock&, boost::asio::any_io_executor);

    void set_servers(int);

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
    bool const slows_;
    std::size_t servers_ = 0, busy_ = 0;
    std::deque<std::shared_ptr<job>> line_;
};

} // namespace quern::sim
