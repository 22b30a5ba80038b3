#include <quern/net/detail/http_wire.hpp>

#include <quern/net/detail/as_values.hpp>
#include <quern/net/detail/http_session.hpp>

#include <boost/asio/write.hpp>

namespace quern::net::detail {

namespace asio = boost::asio;
using asio::ip::tcp;

http_wire::http_wire(tcp::socket socket, asio::ssl::context* tls) : socket_(std::move(socket))
{
    boost::system::error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.non_blocking(true, ignored); // for write_at_once()
    if (tls) tls_.emplace(socket_, *tls);
}

asio::awaitable<bool> http_wire::shake_hands()
{
    if (!tls_) co_return true;
    auto const [ec] = co_await tls_->async_handshake(asio::ssl::stream_base::server, as_values);
    co_return !ec;
}

http_wire::transfer http_wire::read_some(asio::mutable_buffer room)
{
    return tls_ ? tls_->async_read_some(room, as_values) : socket_.async_read_some(room, as_values);
}

http_wire::transfer http_wire::write_all(asio::const_buffer bytes)
{
    return tls_ ? asio::async_write(*tls_, bytes, as_values) : asio::async_write(socket_, bytes, as_values);
}

bool http_wire::write_at_once()
{
    if (tls_) return out.empty();
    boost::system::error_code ec;
    while (written_ != out.size() && !ec) {
        written_ += socket_.write_some(asio::buffer(out.data() + written_, out.size() - written_), ec);
    }
    if (written_ != out.size()) return false;
    out.clear();
    if (out.capacity() > http_answer::kept) out.shrink_to_fit();
    written_ = 0;
    return true;
}

asio::awaitable<bool> http_wire::write()
{
    auto const [ec, size] = co_await write_all(asio::buffer(out.data() + written_, out.size() - written_));
    out.clear();
    out.shrink_to_fit(); // it was a large one
    written_ = 0;
    co_return !ec;
}

bool http_wire::has_ended()
{
    char byte = 0;
    boost::system::error_code ec;
    auto const size = socket_.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, ec);
    return ec || size == 0;
}

void http_wire::stop_sending()
{
    boost::system::error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

void http_wire::close()
{
    boost::system::error_code ignored;
    socket_.close(ignored);
}

std::string http_wire::peer() const
{
    boost::system::error_code ignored;
    auto const end = socket_.remote_endpoint(ignored);
    return end.address().to_string() + ":" + std::to_string(end.port());
}

} // namespace quern::net::detail
