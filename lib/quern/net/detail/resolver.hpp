#pragma once

#include <quern/net/detail/connection.hpp>
#include <quern/net/detail/waiter.hpp>

#include <boost/asio/ip/tcp.hpp>

#include <memory>

namespace quern::net::detail {

/// Addresses of one host. A look-up cannot be cancelled on its thread, so callers wait beside it, each with
/// a deadline of its own; the answer is kept for a while, and a stale one serves when the name service fails.
///
/// Threads  one strand: that of the executor given.
class resolver : public std::enable_shared_from_this<resolver> {
public:
    resolver(boost::asio::any_io_executor, endpoint const&);

    /// Fails with  errc::connect_failed  the name is not known, or there was no answer before the deadline; then the
    ///                                   look-up goes on
    ///             errc::stopped         cancelled, or closed
    boost::asio::awaitable<result<tcp_addresses>> addresses(tick deadline);

    /// This one answered: it is tried first, until the name is looked up again.
    void prefer(boost::asio::ip::tcp::endpoint const&);

    /// This one took a connection and was of no use: it is tried last, until the name is looked up again.
    void demote(boost::asio::ip::tcp::endpoint const&);

    /// Ends all waits.
    void close();

private:
    void look_up();

    endpoint peer_;
    boost::asio::ip::tcp::resolver resolver_;
    tcp_addresses known_;
    tick fresh_until_{};
    bool looking_ = false;
    boost::system::error_code last_error_;
    waiter::line waiting_;
};

} // namespace quern::net::detail
