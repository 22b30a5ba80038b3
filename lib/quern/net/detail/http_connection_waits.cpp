#include <quern/net/detail/http_connection.hpp>

#include <quern/net/detail/as_values.hpp>

#include <algorithm>
#include <utility>

// Answers that do not leave at once: those that are still to come, are held back, go on, or are harmed.

namespace quern::net {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::size_t read_at_once = 16 * 1024;
constexpr std::size_t least_swallowed = 256 * 1024;

} // namespace

/// Waits for the answer, harms it as planned. False when the connection is to be closed.
asio::awaitable<bool> http_connection::finish_slowly()
{
    using harm = http_turn::harm;
    auto& answer = session_->answer();
    if (!out_.empty() && core_->holds_back()) co_await kept();
    if (!write_at_once()) { // the answers before this one
        auto const sent = co_await write();
        if (!sent) co_return false;
    }
    if (turn_.planted == harm::half_open) {
        leave_unanswered();
        co_await swallow();
        co_return false;
    }
    if (turn_.later) watch_for_disconnect();
    while (turn_.later && !closed_)
        co_await news();
    if (turn_.latency.count() != 0) co_await pause(turn_.latency);
    if (closed_) co_return false;
    if (turn_.planted == harm::unanswered) {
        leave_unanswered();
        co_return false;
    }
    append_answer();
    if (core_->holds_back()) co_await kept();
    if (closed_) co_return false;
    if (turn_.planted == harm::truncated) {
        out_.resize(out_.size() - std::max<std::size_t>(answer.body.size() / 2, 1));
        co_await write();
        co_return false;
    }
    if (turn_.planted == harm::slow) co_await trickle(turn_.bytes_per_second);
    co_return answer.keep_alive;
}

void http_connection::leave_unanswered()
{
    session_->answer().status = 0;
    session_->conclude(request_);
}

void http_connection::wake()
{
    if (news_) news_->ring();
}

asio::awaitable<bool> http_connection::news(std::optional<tick> until)
{
    if (!news_) news_.emplace(core_->time, socket_.get_executor());
    return news_->wait(until);
}

void http_connection::ready()
{
    turn_.later = false;
    wake();
}

void http_connection::released()
{
    owed_ = false;
    wake();
}

/// No byte of an answer leaves before what it says is kept.
asio::awaitable<void> http_connection::kept()
{
    owed_ = true;
    core_->owe(*this);
    while (owed_ && !closed_)
        co_await news();
}

/// Waits until those before this one have their bodies. Whoever has waited for long gets room at once, at the cost of
/// those whose bodies have been coming for longer: some send no more, to keep others out.
asio::awaitable<void> http_connection::room()
{
    std::optional<tick> const until = deadline_ - core_->limits.body_timeout * 5 / 6;
    bool in_time = core_->time.now() < *until;
    while (in_time && !closed_ && core_->bodies.crowded(held_))
        in_time = co_await news(until);
    if (!in_time && !closed_) core_->limit_bodies(held_);
}

asio::awaitable<void> http_connection::pause(std::chrono::milliseconds length)
{
    std::optional<tick> const until = core_->time.now() + length;
    bool in_time = true;
    while (in_time && !closed_)
        in_time = co_await news(until);
}

asio::awaitable<void> http_connection::follow()
{
    bool takes = true;
    while (takes && !closed_) {
        deadline_ = tick::max();
        co_await news();
        if (!closed_ && !out_.empty()) takes = co_await write();
    }
}

void http_connection::tell(std::string_view piece)
{
    if (!follows_ || !out_.empty()) return;
    out_.assign(piece);
    wake();
}

asio::awaitable<void> http_connection::trickle(int bytes_per_second)
{
    auto const piece = static_cast<std::size_t>(std::max(bytes_per_second / 10, 1));
    auto const interval = std::chrono::milliseconds(1000 * piece / static_cast<std::size_t>(bytes_per_second));
    for (std::size_t at = 0; at < out_.size() && !closed_; at += piece) {
        auto const next = asio::buffer(out_.data() + at, std::min(piece, out_.size() - at));
        auto const [ec, size] = co_await write_all(next);
        if (ec) break;
        co_await pause(interval);
    }
    out_.clear();
}

/// Reads and forgets until the client closes.
asio::awaitable<void> http_connection::swallow()
{
    in_request_ = false;
    auto const most = std::max(8 * core_->limits.max_body_bytes, least_swallowed);
    for (std::size_t total = 0; total < most && !closed_;) {
        in_.clear();
        auto const [ec, size] = co_await read_some(in_.prepare(read_at_once));
        if (ec) break;
        total += size;
    }
}

void http_connection::watch_for_disconnect()
{
    auto const look = [self = shared_from_this(), turn = turns_](boost::system::error_code ec) {
        if (ec || !self->turn_.later || self->turns_ != turn) return;
        char byte = 0;
        auto const size = self->socket_.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, ec);
        if (!ec && size != 0) return; // the next request, sent early
        self->session_->gone(true);
        self->turn_.later = false;
        self->close();
    };
    socket_.async_wait(tcp::socket::wait_read, look);
}

} // namespace quern::net
