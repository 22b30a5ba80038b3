#pragma once

#include "common/readiness.hpp"

#include <quern/core/error.hpp>

#include <boost/asio/steady_timer.hpp>

#include <optional>
#include <string>

namespace quern::app {

/// Writes whole lines to a descriptor, one after the other, without ever blocking on it.
///
/// Threads  one strand, or a context with one thread.
class line_writer {
public:
    line_writer(boost::asio::any_io_executor, int descriptor);

    /// Completes when the system has taken the line. After a failure every write fails.
    ///
    /// Cancellation  terminal, until the line has begun: then it is finished first.
    boost::asio::awaitable<result<void>> write(std::string line);

private:
    struct turn;
    boost::asio::awaitable<void> put(std::string_view);

    int descriptor_;
    readiness ready_;
    boost::asio::steady_timer next_; // wakes one of those who wait for their turn
    bool busy_ = false;
    std::optional<failure> broken_;
};

} // namespace quern::app
