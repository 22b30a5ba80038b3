// How a connection comes about; what is done with it afterwards is in connection.cpp.

#include <quern/net/detail/as_values.hpp>
#include <quern/net/detail/connection.hpp>
#include <quern/net/detail/message_parser.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>

#include <netinet/tcp.h>
#include <sys/socket.h>

namespace quern::net::detail {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

std::string through(route const& way)
{
    return way.via ? " through " + way.via->name() : std::string();
}

std::string reaching(route const& way)
{
    return "connect to " + (way.via ? way.via->name() : way.peer.authority());
}

} // namespace

connection::connection(
    asio::any_io_executor ex, std::shared_ptr<tls_client> tls, std::size_t max_header, std::size_t max_body)
    : socket_(std::move(ex)), how_(std::move(tls)), max_header_(max_header), max_body_(max_body)
{
    if (how_) tls_.emplace(socket_, how_->context());
}

connection::~connection()
{
    if (race_) race_->stop(); // cancelled between two of its waits it goes on by itself
    if (tls_) keep_resumable(*tls_);
}

tcp::endpoint connection::address() const
{
    boost::system::error_code ignored;
    return socket_.remote_endpoint(ignored);
}

bool connection::is_resumed() const
{
    // OpenSSL's question takes no const pointer, and changes nothing.
    return tls_ && SSL_session_reused(const_cast<tls_stream&>(*tls_).native_handle()) == 1;
}

/// A failure leaves the socket open, for its owner to ask for the address; it goes with the connection.
asio::awaitable<result<void>> connection::open(route const& way, tcp_addresses const& addresses)
{
    auto opened = co_await reach(way, addresses);
    if (opened && tls_ && way.via) opened = co_await tunnel(way);
    if (opened && tls_) opened = co_await shake_hands(way);
    if (opened && aborted_) opened = not_opened(reaching(way), asio::error::operation_aborted); // at the very end
    co_return opened;
}

asio::awaitable<result<void>> connection::reach(route const& way, tcp_addresses const& addresses)
{
    race_ = std::make_shared<connect_race>(socket_.get_executor(), addresses, deadline);
    auto const ec = co_await race_->run(socket_);
    race_.reset();
    if (ec) co_return not_opened(reaching(way), ec);
    boost::system::error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    co_return result<void>();
}

asio::awaitable<result<void>> connection::open(route const& way, std::string const& unix_socket)
{
    auto const ec = co_await reach_unix(unix_socket);
    if (ec) co_return not_opened("connect to the unix socket " + unix_socket, ec);
    if (!tls_) co_return result<void>();
    co_return co_await shake_hands(way);
}

/// The socket is a tcp::socket in name only from then on: reads and writes ask for no more than a stream.
asio::awaitable<boost::system::error_code> connection::reach_unix(std::string const& path)
{
    constexpr std::chrono::milliseconds pause{10};
    asio::local::stream_protocol::endpoint const where(path);
    asio::steady_timer timer(socket_.get_executor());
    boost::system::error_code ec = asio::error::operation_aborted;
    while (!aborted_) {
        asio::local::stream_protocol::socket stream(socket_.get_executor());
        stream.open(asio::local::stream_protocol(), ec);
        if (!ec) stream.native_non_blocking(true, ec);
        if (ec) co_return ec;
        bool const is_connected =
            ::connect(stream.native_handle(), where.data(), static_cast<socklen_t>(where.size())) == 0;
        if (is_connected) {
            socket_.assign(tcp::v4(), stream.release(ec), ec);
            co_return ec;
        }
        ec.assign(errno, boost::system::system_category());
        if (ec != asio::error::would_block) co_return ec;
        timer.expires_after(pause); // the listener's queue is full, and nothing tells when it no longer is
        auto const [cancelled] = co_await timer.async_wait(as_values);
        if (cancelled) co_return cancelled;
    }
    co_return ec;
}

void connection::probe_silence()
{
    constexpr int silent_for = 60, between = 15, probes = 4; // a peer that has vanished is known after two minutes
    auto const descriptor = socket_.native_handle();
    boost::system::error_code ignored;
    socket_.set_option(asio::socket_base::keep_alive(true), ignored);
    auto const set = [&](int name, int value) { ::setsockopt(descriptor, IPPROTO_TCP, name, &value, sizeof value); };
    set(TCP_KEEPIDLE, silent_for);
    set(TCP_KEEPINTVL, between);
    set(TCP_KEEPCNT, probes);
}

/// RFC 9110, 9.3.6. The answer has no body, whatever its headers say.
asio::awaitable<result<void>> connection::tunnel(route const& way)
{
    auto const text = connect_request(*way.via, way.peer);
    auto const phase = "tunnel to " + way.peer.authority() + through(way);
    auto const [write_error, written] = co_await asio::async_write(socket_, asio::buffer(text), as_values);
    if (write_error) co_return not_opened(phase, write_error);

    response out;
    std::optional<reply_parser> parser;
    int begun = 0; // the answer, after a few interim ones
    auto const begin = [&] {
        out.fields.clear();
        parser.emplace(out, max_header_, 0);
        parser->skip(true);
        ++begun;
    };
    begin();
    while (!parser->is_header_done()) {
        constexpr std::size_t usual_answer = 1024;
        auto const [read_error, size] = co_await socket_.async_read_some(unread_.prepare(usual_answer), as_values);
        if (read_error) co_return not_opened(phase, read_error);
        unread_.commit(size);
        boost::system::error_code ec;
        while (unread_.size() != 0 && !parser->is_header_done() && !ec) {
            unread_.consume(parser->read(unread_.data(), ec));
            bool const is_interim = parser->is_header_done() && out.status / 100 == 1 && out.status != 101;
            if (is_interim && begun <= most_interim_answers) begin();
        }
        if (ec && ec != http::error::need_more) {
            co_return failure(errc::connect_failed, phase + ": not a valid HTTP answer, " + ec.message());
        }
    }
    if (out.status / 100 != 2) {
        obstacle_ = obstacle::proxy;
        co_return refused_by(*way.via, out.status);
    }
    if (unread_.size() != 0) { // the server waits for us to begin: this cannot be from it
        co_return failure(errc::connect_failed, phase + ": bytes behind the answer");
    }
    co_return result<void>();
}

asio::awaitable<result<void>> connection::shake_hands(route const& way)
{
    auto const phase = "TLS handshake with " + way.peer.authority() + through(way);
    if (!how_->prepare(*tls_, way.peer.host, certificate_fault_)) {
        obstacle_ = obstacle::their_certificate;
        co_return failure(errc::tls_failed, phase + ": no certificate can be checked against such a host");
    }
    auto const [ec] = co_await tls_->async_handshake(asio::ssl::stream_base::client, as_values);
    if (!ec) co_return result<void>();
    how_->forget_session(); // the server may have choked on it
    if (aborted_ || ec == asio::error::operation_aborted) co_return not_opened(phase, ec);
    if (!certificate_fault_.empty()) obstacle_ = obstacle::their_certificate;
    // In TLS 1.2 a server that misses one says no more than that the handshake failed.
    bool const is_missed = is_handshake_failure(ec) && tls_client::was_asked(*tls_);
    if (refuses_ours(ec) || is_missed) obstacle_ = obstacle::own_certificate;
    auto why = why_refused(ec, certificate_fault_, how_->oldest());
    why.message = phase + ": " + (is_missed ? "it asks for a certificate, and none is set" : why.message);
    co_return why;
}

failure connection::not_opened(std::string_view phase, boost::system::error_code ec)
{
    bool const is_late = aborted_ == errc::timed_out;
    bool const is_stopped = aborted_ ? !is_late : ec == asio::error::operation_aborted;
    auto const what = is_late    ? "took too long"
        : is_stopped             ? "cancelled"
        : ec == asio::error::eof ? "closed by the other side"
                                 : ec.message();
    // Nothing of a request has been written: that a deadline has passed says no more than that.
    return {is_stopped ? errc::stopped : errc::connect_failed, std::string(phase) + ": " + what, !is_stopped};
}

} // namespace quern::net::detail
