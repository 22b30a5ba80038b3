// The exchange of a client that sends what it is given, large bodies included, and tells how far an answer came.

#include <quern/net/detail/as_values.hpp>
#include <quern/net/detail/connection.hpp>
#include <quern/net/detail/reply_reader.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>

namespace quern::net {

namespace asio = boost::asio;

asio::awaitable<result<void>> connection::converse(
    std::shared_ptr<connection> self, std::shared_ptr<conversation> talk)
{
    ++self->exchanges;
    self->unanswered_ = true;
    self->whole_ = false;
    if (self->tls_) {
        auto& stream = *self->tls_;
        return converse_over(stream, std::move(self), std::move(talk));
    }
    auto& stream = self->socket_;
    return converse_over(stream, std::move(self), std::move(talk));
}

template <class Stream>
asio::awaitable<result<void>> connection::converse_over(
    Stream& stream, std::shared_ptr<connection> self, std::shared_ptr<conversation> talk)
{
    constexpr std::size_t usual_read = 4 * 1024, largest_read = 64 * 1024;

    // The coroutine may end first, cancelled or content; this keeps what is being written, and the stream. How
    // writing failed does not matter: the answer that explains it may be there to read.
    auto noted = [self, talk](boost::system::error_code ec, std::size_t) { talk->is_written = !ec; };
    asio::async_write(stream, asio::buffer(talk->text), std::move(noted));

    reply_reader reader(talk->answer, self->max_header_, self->max_body_, talk->is_bare);
    while (!reader.is_done()) {
        auto const room = std::clamp(reader.expected(), usual_read, largest_read);
        auto const [read_error, size] = co_await stream.async_read_some(self->unread_.prepare(room), as_values);
        talk->has_headers = reader.has_headers();
        // As in exchange(): over TLS only a close_notify proves the end of an answer that has no length.
        if (read_error == asio::error::eof && reader.ends_here()) break;
        if (read_error) {
            if (self->unanswered_ && refuses_ours(read_error)) self->obstacle_ = obstacle::own_certificate;
            co_return self->lost(read_error, reader.phase());
        }
        self->unanswered_ = false;
        self->unread_.commit(size);
        auto wrong = reader.take(self->unread_);
        talk->has_headers = reader.has_headers();
        if (wrong) {
            self->abort(errc::bad_reply);
            co_return std::move(*wrong);
        }
    }
    // Bytes behind the answer belong to no request, and a request that was cut short would swallow the next one.
    if (reader.is_last() || self->has_more() || !talk->is_written) self->abort(errc::connection_lost);
    self->whole_ = true;
    co_return result<void>();
}

} // namespace quern::net
