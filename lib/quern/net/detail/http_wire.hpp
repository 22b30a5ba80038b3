#pragma once

#include <quern/net/detail/tls.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>

namespace quern::net::detail {

/// Socket of a connection, with TLS or without, and what is to be written to it.
class http_wire {
public:
    /// `tls`: null for none.
    http_wire(boost::asio::ip::tcp::socket, boost::asio::ssl::context* tls);

    /// Completes at once without TLS.
    boost::asio::awaitable<bool> shake_hands();

    using transfer = boost::asio::awaitable<std::tuple<boost::system::error_code, std::size_t>>;
    transfer read_some(boost::asio::mutable_buffer);
    transfer write_all(boost::asio::const_buffer);

    std::string out; ///< to be written

    /// True when nothing is left to write: the kernel takes a usual answer at once, without a turn of the event loop.
    bool write_at_once();
    /// Writes what is left of it.
    boost::asio::awaitable<bool> write();

    /// Calls `then` with an error code when there is something to read, or an end.
    template <class Then>
    void when_readable(Then then)
    {
        socket_.async_wait(boost::asio::ip::tcp::socket::wait_read, std::move(then));
    }
    bool has_ended(); ///< the client has closed, and everything it sent was read

    void stop_sending();
    void close();
    std::string peer() const; ///< "127.0.0.1:40312"
    boost::asio::any_io_executor get_executor() { return socket_.get_executor(); }

private:
    boost::asio::ip::tcp::socket socket_;
    std::optional<tls_stream> tls_;
    std::size_t written_ = 0;
};

} // namespace quern::net::detail
