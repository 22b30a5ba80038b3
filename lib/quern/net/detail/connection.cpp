#include <quern/net/detail/connection.hpp>
#include <quern/net/detail/plain_reply.hpp>
#include <quern/net/detail/reply_parser.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>

namespace quern::net {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr auto as_values = asio::as_tuple(asio::use_awaitable);
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

failure refused(boost::system::error_code const& ec)
{
    if (ec == http::error::body_limit || ec == http::error::header_limit) {
        return {errc::reply_too_large,
            ec == http::error::body_limit ? "the body of the answer exceeds the limit"
                                          : "the headers of the answer exceed the limit"};
    }
    return {errc::bad_reply, "not a valid HTTP answer: " + ec.message(), true};
}

failure not_the_answer(int interim_status)
{
    return {errc::bad_reply,
        interim_status == 101 ? "not a valid HTTP answer: it changes the protocol (101)"
                              : "not a valid HTTP answer: interim answers without end",
        true};
}

} // namespace

asio::awaitable<result<response>> connection::exchange(std::string const& text)
{
    ++exchanges;
    unanswered_ = true;
    whole_ = false;
    if (tls_) return exchange_over(*tls_, text);
    return exchange_over(socket_, text);
}

template <class Stream>
asio::awaitable<result<response>> connection::exchange_over(Stream& stream, std::string const& text)
{
    auto const [write_error, written] = co_await asio::async_write(stream, asio::buffer(text), as_values);
    if (write_error) co_return lost(write_error, "while the request was sent");

    response out;
    std::optional<reply_parser> parser(std::in_place, out, max_header_, max_body_);
    int interim = 0;
    bool is_plain = false;
    while (!is_plain && !parser->is_done()) {
        auto const expected = parser->is_header_done() ? parser->content_length_remaining().value_or(0) : 0;
        auto const room = std::clamp<std::size_t>(expected, usual_read, largest_read);
        auto const [read_error, size] = co_await stream.async_read_some(unread_.prepare(room), as_values);
        boost::system::error_code ec;
        // The end of an answer that has no length. Over TLS only a close_notify proves it: anyone can cut a connection.
        if (read_error == asio::error::eof && parser->got_some()) {
            parser->put_eof(ec);
            if (!ec) break;
        }
        if (read_error) {
            auto const phase = !parser->got_some() ? "before the answer began"
                : !parser->is_header_done()        ? "in the headers of the answer"
                                                   : "in the body of the answer";
            co_return lost(read_error, phase);
        }

        unanswered_ = false;
        unread_.commit(size);
        if (!parser->got_some()) {
            auto const plain = read_plain_reply(text_in(unread_), max_header_, max_body_, out);
            unread_.consume(plain);
            is_plain = plain != 0;
        }
        while (!is_plain && unread_.size() != 0 && !parser->is_done()) {
            auto const used = parser->read(unread_.data(), ec);
            unread_.consume(used);
            if (ec == http::error::need_more && unread_.size() > max_header_) {
                ec = http::error::header_limit; // Beast does not limit what stands beside a chunk, nor trailers
            } else if (ec == http::error::need_more) {
                ec = {};
                break;
            }
            if (ec) {
                abort(errc::bad_reply);
                co_return refused(ec);
            }
            if (parser->is_done() && out.status / 100 == 1) { // interim, the real one follows (RFC 9110, 15.2)
                if (out.status == 101 || ++interim > most_interim_answers) { // nobody asked for another protocol
                    abort(errc::bad_reply);
                    co_return not_the_answer(out.status);
                }
                out.fields.clear();
                parser.emplace(out, max_header_, max_body_);
            }
        }
    }
    // Bytes after the end belong to no request of ours: whatever comes next could not be trusted.
    bool const is_last = !is_plain && (!parser->keep_alive() || parser->need_eof());
    if (is_last || unread_.size() != 0) abort(errc::connection_lost);
    whole_ = true;
    co_return std::move(out);
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

bool connection::is_quiet()
{
    char byte = 0;
    auto const n = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

} // namespace quern::net
