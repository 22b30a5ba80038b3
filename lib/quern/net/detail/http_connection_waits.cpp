#include <quern/net/detail/http_connection.hpp>

#include <algorithm>

// Answers that do not leave at once: those that are still to come, are held back, go on, or are harmed.

namespace quern::net::detail {

namespace asio = boost::asio;

namespace {

constexpr std::size_t read_at_once = 16 * 1024;
constexpr std::size_t least_swallowed = 256 * 1024;

} // namespace

/// Waits for the answer, harms it as planned. False when the connection is to be closed.
asio::awaitable<bool> http_connection::finish_slowly()
{
    using harm = http_turn::harm;
    auto& answer = session_->answer();
    auto const leave_unanswered = [&] {
        answer.status = 0;
        session_->conclude(request_);
    };
    if (!wire_.out.empty() && core_->holds_back()) co_await kept();
    if (!wire_.write_at_once()) { // the answers before this one
        auto const sent = co_await write();
        if (!sent) co_return false;
    }
    if (turn_.planted == harm::half_open) {
        leave_unanswered();
        co_await swallow();
        co_return false;
    }
    if (turn_.later) watch_for_disconnect();
    while (turn_.later && !is_.closed)
        co_await news();
    if (turn_.latency.count() != 0) co_await pause(turn_.latency);
    if (is_.closed) co_return false;
    if (turn_.planted == harm::unanswered) {
        leave_unanswered();
        co_return false;
    }
    append_answer();
    if (core_->holds_back()) co_await kept();
    if (is_.closed) co_return false;
    if (turn_.planted == harm::truncated) {
        wire_.out.resize(wire_.out.size() - std::max<std::size_t>(answer.body.size() / 2, 1));
        co_await write();
        co_return false;
    }
    if (turn_.planted == harm::slow) co_await trickle(turn_.bytes_per_second);
    co_return answer.keep_alive;
}

void http_connection::wake()
{
    if (news_) news_->ring();
}

asio::awaitable<bool> http_connection::news(std::optional<tick> until)
{
    if (!news_) news_.emplace(core_->time, wire_.get_executor());
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
    while (owed_ && !is_.closed)
        co_await news();
}

/// Waits until those before this one have their bodies. Whoever has waited for long gets room at once, at the cost of
/// those whose bodies have been coming for longer: some send no more, to keep others out.
asio::awaitable<void> http_connection::room()
{
    std::optional<tick> const until = is_.deadline - core_->limits.body_timeout * 5 / 6;
    bool in_time = core_->time.now() < *until;
    while (in_time && !is_.closed && core_->bodies.crowded(held_))
        in_time = co_await news(until);
    if (!in_time && !is_.closed) core_->limit_bodies(held_);
}

asio::awaitable<void> http_connection::pause(std::chrono::milliseconds length)
{
    std::optional<tick> const until = core_->time.now() + length;
    bool in_time = true;
    while (in_time && !is_.closed)
        in_time = co_await news(until);
}

asio::awaitable<void> http_connection::follow()
{
    bool takes = true;
    while (takes && !is_.closed) {
        is_.deadline = tick::max();
        co_await news();
        if (!is_.closed && !wire_.out.empty()) takes = co_await write();
    }
}

void http_connection::tell(std::string_view piece)
{
    if (!is_.follows || !wire_.out.empty()) return;
    wire_.out.assign(piece);
    wake();
}

asio::awaitable<void> http_connection::trickle(int bytes_per_second)
{
    auto const piece = static_cast<std::size_t>(std::max(bytes_per_second / 10, 1));
    auto const interval = std::chrono::milliseconds(1000 * piece / static_cast<std::size_t>(bytes_per_second));
    for (std::size_t at = 0; at < wire_.out.size() && !is_.closed; at += piece) {
        auto const next = asio::buffer(wire_.out.data() + at, std::min(piece, wire_.out.size() - at));
        auto const [ec, size] = co_await wire_.write_all(next);
        if (ec) break;
        co_await pause(interval);
    }
    wire_.out.clear();
}

/// Reads and forgets until the client closes.
asio::awaitable<void> http_connection::swallow()
{
    in_request_ = false;
    auto const most = std::max(8 * core_->limits.max_body_bytes, least_swallowed);
    for (std::size_t total = 0; total < most && !is_.closed;) {
        in_.clear();
        auto const [ec, size] = co_await wire_.read_some(in_.prepare(read_at_once));
        if (ec) break;
        total += size;
    }
}

void http_connection::watch_for_disconnect()
{
    auto const look = [self = shared_from_this(), turn = turns_](boost::system::error_code ec) {
        if (ec || !self->turn_.later || self->turns_ != turn) return;
        if (!self->wire_.has_ended()) return; // the next request, sent early
        self->session_->gone(true);
        self->turn_.later = false;
        self->close();
    };
    wire_.when_readable(look);
}

} // namespace quern::net::detail
