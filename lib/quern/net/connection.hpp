#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/net/endpoint.hpp>
#include <quern/net/message.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <optional>
#include <vector>

namespace quern::net {

using tcp_addresses = std::vector<boost::asio::ip::tcp::endpoint>;

/// One TCP or TLS connection that carries one exchange after another. Its owner watches the deadline:
/// it calls abort() when `deadline` has passed, which ends whatever is under way.
class connection {
public:
    connection(
        boost::asio::any_io_executor, boost::asio::ssl::context*, std::size_t max_header, std::size_t max_body);

    /// Connects to the first address that answers and shakes hands.
    boost::asio::awaitable<result<void>> open(endpoint const&, tcp_addresses const&);

    /// One write, and reads until the answer is whole. After a failure the connection is closed.
    boost::asio::awaitable<result<response>> exchange(std::string const& text);

    /// Closes the socket; what was under way fails with `why`.
    void abort(errc why);

    /// Ready for another exchange: open, and nothing of the last one is left half done.
    bool is_reusable() const { return socket_.is_open() && whole_; }

    /// False when the server has closed, or has sent something that nobody asked for. Costs a system call.
    bool is_quiet();

    /// The last exchange failed before a single byte of its answer arrived.
    bool unanswered() const { return unanswered_; }

    tick deadline = tick::max();
    tick idle_since{};
    std::size_t exchanges = 0;

private:
    template <class Stream>
    boost::asio::awaitable<result<response>> exchange_over(Stream&, std::string const& text);
    failure lost(boost::system::error_code, std::string_view phase);

    boost::asio::ip::tcp::socket socket_;
    std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;
    boost::beast::flat_buffer unread_;
    std::size_t max_header_, max_body_;
    std::optional<errc> aborted_;
    bool unanswered_ = false;
    bool whole_ = false;
};

} // namespace quern::net
