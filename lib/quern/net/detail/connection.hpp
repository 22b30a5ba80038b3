#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/net/detail/connect_race.hpp>
#include <quern/net/detail/proxy.hpp>
#include <quern/net/detail/tls.hpp>
#include <quern/net/message.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace quern::net::detail {

/// How a connection gets to its peer.
struct route {
    endpoint peer;
    std::optional<proxy> via; ///< which tunnels to an https peer, and is sent the requests to an http peer

    endpoint const& first_hop() const { return via ? via->at : peer; }
};

/// The thing that stood in the way of a connection or an answer, where the failure's code does not tell.
enum class obstacle { none, proxy, their_certificate, own_certificate };

/// A request whose answer may come before it is written, and is kept as far as it came.
struct conversation {
    std::string const text;
    bool const is_bare; ///< HEAD: the answer has no body
    response answer;
    bool has_headers = false; ///< those of the answer came whole
    bool is_written = false;

    conversation(std::string wire_text, bool bare) : text(std::move(wire_text)), is_bare(bare) {}
};

/// One TCP or TLS connection that carries one exchange after another. Its owner watches the deadline:
/// it calls abort() when `deadline` has passed, which ends whatever is under way.
class connection {
public:
    /// `tls`: null for http.
    connection(
        boost::asio::any_io_executor, std::shared_ptr<tls_client> tls, std::size_t max_header, std::size_t max_body);
    ~connection();

    /// Connects to the first address of the first hop that answers, has a proxy open a tunnel, and shakes hands.
    boost::asio::awaitable<result<void>> open(route const&, tcp_addresses const&);

    /// The same over a unix socket, to whoever listens there in the peer's place.
    boost::asio::awaitable<result<void>> open(route const&, std::string const& unix_socket);

    /// The handshake went on from an earlier connection's session.
    bool is_resumed() const;

    /// Has the system ask a peer that is silent for a minute whether it is still there, for answers that take hours.
    void probe_silence();

    /// Writes, in one piece, and reads at the same time until the answer is whole. After a failure, and after an
    /// answer that came early, the connection is closed. `self` is this connection, kept until the last byte is
    /// written or given up.
    boost::asio::awaitable<result<void>> converse(std::shared_ptr<connection> self, std::shared_ptr<conversation>);

    /// Closes the socket; what was under way fails with `why`.
    void abort(errc why);

    /// Ready for another exchange: open, and nothing of the last one is left half done.
    bool is_reusable() const { return socket_.is_open() && whole_; }

    /// False when the server has closed, or has sent something that nobody asked for. Costs a system call.
    bool is_quiet();

    /// The last exchange failed before a single byte of its answer arrived.
    bool unanswered() const { return unanswered_; }

    obstacle met() const { return obstacle_; }

    std::shared_ptr<tls_client> const& tls() const { return how_; }

    /// Keeps in mind who was reached: a closed socket does not.
    void note_address()
    {
        if (reached.port() == 0) reached = address();
    }

    tick deadline = tick::max();
    tick idle_since{};
    tick retire_at = tick::max();           ///< it gets no request from then on
    boost::asio::ip::tcp::endpoint reached; ///< port 0: nobody

private:
    boost::asio::ip::tcp::endpoint address() const; ///< of the peer
    boost::asio::awaitable<result<void>> reach(route const&, tcp_addresses const&);
    boost::asio::awaitable<result<void>> tunnel(route const&);
    boost::asio::awaitable<result<void>> shake_hands(route const&);
    failure not_opened(std::string_view phase, boost::system::error_code);
    template <class Stream>
    boost::asio::awaitable<result<void>> converse_over(
        Stream&, std::shared_ptr<connection>, std::shared_ptr<conversation>);
    boost::asio::awaitable<boost::system::error_code> reach_unix(std::string const& path);
    failure lost(boost::system::error_code, std::string_view phase);
    bool has_more(); ///< bytes came that belong to no answer yet

    boost::asio::ip::tcp::socket socket_;
    std::shared_ptr<tls_client> how_;
    std::optional<tls_stream> tls_;
    std::shared_ptr<connect_race> race_; ///< while it is connecting
    std::string certificate_fault_;
    boost::beast::flat_buffer unread_;
    std::size_t max_header_, max_body_;
    std::optional<errc> aborted_;
    obstacle obstacle_ = obstacle::none;
    bool unanswered_ = false;
    bool whole_ = false;
};

} // namespace quern::net::detail
