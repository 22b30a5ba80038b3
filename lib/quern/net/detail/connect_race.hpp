#pragma once

#include <quern/core/clock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <vector>

namespace quern::net::detail {

using tcp_addresses = std::vector<boost::asio::ip::tcp::endpoint>;

/// Families take turns, beginning with that of the first address, so that a network without IPv6, or with IPv6 alone,
/// costs one attempt (RFC 8305, 4).
tcp_addresses interleaved(tcp_addresses);

/// Which address is tried when: the next one as soon as an attempt has failed, or the last one takes longer than the
/// stagger (RFC 8305, 5).
class connect_plan {
public:
    /// All addresses get their turn before the deadline. Between two of them lie 250 ms at most, RFC 8305's value.
    connect_plan(std::size_t addresses, tick now, tick deadline);

    /// The address to try now, if it is time.
    std::optional<std::size_t> due(tick now);

    /// When due() will have one without anything happening; tick::max() when all have been tried.
    tick due_at() const { return next_ == addresses_ ? tick::max() : due_at_; }

    void failed();
    bool all_failed() const { return failures_ == addresses_; }

private:
    std::size_t addresses_;
    std::chrono::nanoseconds stagger_;
    tick due_at_;
    std::size_t next_ = 0;
    std::size_t failures_ = 0;
};

/// Connects to the first of several addresses that answers.
///
/// Lifetime  in a shared_ptr; the attempts keep it alive.
/// Threads   one strand: that of the executor given.
class connect_race : public std::enable_shared_from_this<connect_race> {
public:
    connect_race(boost::asio::any_io_executor, tcp_addresses, tick deadline);

    /// Completes with the connected socket, or with the error of the last attempt; with operation_aborted once
    /// stopped.
    /// Cancellation  terminal; all attempts are given up.
    boost::asio::awaitable<boost::system::error_code> run(boost::asio::ip::tcp::socket& out);

    /// Gives up all attempts.
    void stop();

private:
    using sockets = std::list<boost::asio::ip::tcp::socket>;
    void start(std::size_t address);
    void ended(sockets::iterator, boost::system::error_code);

    tcp_addresses const addresses_;
    connect_plan plan_;
    sockets attempts_;
    std::optional<sockets::iterator> winner_;
    boost::system::error_code last_error_;
    boost::asio::steady_timer bell_; ///< at the next attempt's time, or rung when one has ended
    bool rung_ = false;
    bool stopped_ = false;
};

} // namespace quern::net::detail
