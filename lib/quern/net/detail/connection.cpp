#include <quern/net/detail/connection.hpp>

#include <quern/net/detail/as_values.hpp>
#include <quern/net/detail/plain_reply.hpp>
#include <quern/net/detail/reply_reader.hpp>

#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>

namespace quern::net::detail {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr std::size_t usual_read = 16 * 1024; // a receive of ten small messages, whole
constexpr std::size_t largest_read = 256 * 1024;

std::string_view text_in(boost::beast::flat_buffer const& buffer)
{
    return {static_cast<char const*>(buffer.data().data()), buffer.size()};
}

bool is_end(boost::system::error_code const& ec)
{
    return ec == asio::error::eof || ec == asio::ssl::error::stream_truncated;
}

} // namespace

asio::awaitable<result<void>> connection::converse(
    std::shared_ptr<connection> self, std::shared_ptr<conversation> talk)
{
    unanswered_ = true;
    whole_ = false;
    if (tls_) return converse_over(*tls_, std::move(self), std::move(talk));
    return converse_over(socket_, std::move(self), std::move(talk));
}

template <class Stream>
asio::awaitable<result<void>> connection::converse_over(
    Stream& stream, std::shared_ptr<connection> self, std::shared_ptr<conversation> talk)
{
    // The coroutine may end first, cancelled or content; this keeps what is being written, and the stream. How
    // writing failed does not matter: the answer that explains it may be there to read.
    auto noted = [self, talk](boost::system::error_code ec, std::size_t) { talk->is_written = !ec; };
    asio::async_write(stream, asio::buffer(talk->text), std::move(noted));

    reply_reader reader(talk->answer, max_header_, max_body_, talk->is_bare);
    bool is_plain = false;
    while (!reader.is_done()) {
        auto const room = std::clamp<std::size_t>(reader.expected(), usual_read, largest_read);
        auto const [read_error, size] = co_await stream.async_read_some(unread_.prepare(room), as_values);
        talk->has_headers = reader.has_headers();
        // The end of an answer that has no length. Over TLS only a close_notify proves it: anyone can cut a
        // connection.
        if (read_error == asio::error::eof && reader.ends_here()) break;
        if (read_error) {
            if (unanswered_ && refuses_ours(read_error)) obstacle_ = obstacle::own_certificate;
            bool const is_early = unanswered_ && !talk->is_written;
            co_return lost(read_error, is_early ? "while the request was sent" : reader.phase());
        }
        unanswered_ = false;
        unread_.commit(size);
        if (!reader.has_begun() && !talk->is_bare) {
            auto const plain = read_plain_reply(text_in(unread_), max_header_, max_body_, talk->answer);
            unread_.consume(plain);
            is_plain = plain != 0;
        }
        if (is_plain) break;
        auto wrong = reader.take(unread_);
        talk->has_headers = reader.has_headers();
        if (wrong) {
            abort(errc::bad_reply);
            co_return std::move(*wrong);
        }
    }
    // Bytes behind the answer belong to no request, and a request that was cut short would swallow the next one.
    bool const is_last = !is_plain && reader.is_last();
    if (is_last || has_more() || !talk->is_written) abort(errc::connection_lost);
    whole_ = true;
    co_return result<void>();
}

failure connection::lost(boost::system::error_code ec, std::string_view phase)
{
    auto why = errc::connection_lost;
    if (aborted_)
        why = *aborted_;
    else if (ec == asio::error::operation_aborted)
        why = errc::stopped;
    abort(why);
    auto const what = why == errc::timed_out ? "deadline passed "
        : why == errc::stopped               ? "cancelled "
        : is_end(ec)                         ? "closed by the server "
                                             : ec.message() + " ";
    return {why, what + std::string(phase), why != errc::stopped};
}

void connection::abort(errc why)
{
    if (!aborted_) aborted_ = why;
    if (race_) race_->stop();
    boost::system::error_code ignored;
    socket_.close(ignored);
}

bool connection::has_more()
{
    if (unread_.size() != 0) return true;
    if (!tls_) return false;
    // A further record of the segment in which the answer came: OpenSSL has it, and the socket shows nothing of it.
    auto* const ssl = tls_->native_handle();
    return SSL_has_pending(ssl) != 0 || BIO_pending(SSL_get_rbio(ssl)) > 0;
}

bool connection::is_quiet()
{
    char byte = 0;
    auto const n = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

} // namespace quern::net::detail
