#include <quern/net/detail/reply_reader.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>

#include <string>

namespace quern::net::detail {

namespace http = boost::beast::http;

namespace {

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

constexpr std::size_t bare_line = 14; // "HTTP/1.1 200\r\n"

/// Gives a status line that ends behind the number the blank that belongs there (RFC 9112, 4): Beast insists on it.
/// Requires `bare_line` bytes.
void complete_status_line(boost::beast::flat_buffer& unread)
{
    std::string text(static_cast<char const*>(unread.data().data()), unread.size());
    if (!text.starts_with("HTTP/1.") || text.compare(bare_line - 2, 2, "\r\n") != 0) return;
    text.insert(bare_line - 2, 1, ' ');
    unread.clear();
    unread.commit(boost::asio::buffer_copy(unread.prepare(text.size()), boost::asio::buffer(text)));
}

} // namespace

std::optional<failure> reply_reader::take(boost::beast::flat_buffer& unread)
{
    if (!parser_) begin();
    while (unread.size() != 0 && !parser_->is_done()) {
        holds_line_ = at_start_ && unread.size() == bare_line - 1; // the byte that decides is next
        if (holds_line_) break;
        if (at_start_ && unread.size() >= bare_line) {
            at_start_ = false;
            complete_status_line(unread);
        }
        boost::system::error_code ec;
        unread.consume(parser_->read(unread.data(), ec));
        if (ec == http::error::need_more && unread.size() > max_header_)
            ec = http::error::header_limit; // Beast does not limit what stands beside a chunk, nor trailers
        else if (ec == http::error::need_more)
            break;
        is_body_too_large_ = ec == http::error::body_limit;
        if (ec) return refused(ec);
        if (parser_->is_done() && out_.status / 100 == 1) { // interim, the real one follows (RFC 9110, 15.2)
            if (out_.status == 101 || ++interim_ > most_interim_answers) // nobody asked for another protocol
                return not_the_answer(out_.status);
            out_.fields.clear();
            begin();
        }
    }
    return {};
}

bool reply_reader::ends_here()
{
    boost::system::error_code ec;
    bool const has_some = parser_ && parser_->got_some();
    if (has_some) parser_->put_eof(ec);
    return has_some && !ec;
}

} // namespace quern::net::detail
