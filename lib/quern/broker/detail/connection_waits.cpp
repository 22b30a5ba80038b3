#include <quern/broker/detail/connection.hpp>

#include <algorithm>

// Answers that do not leave at once: polls, faults, changes that are not kept yet.

namespace quern::broker {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::size_t read_at_once = 16 * 1024;
constexpr std::size_t most_swallowed = 64 * 1024 * 1024;

} // namespace

/// Waits for the poll, carries out the faults. False when the connection is to be closed.
asio::awaitable<bool> connection::finish_slowly()
{
    auto const fault = served_.fault;
    if (!out_.empty() && core_->unsaved()) co_await kept();
    if (!write_at_once()) { // the answers before this one
        auto const sent = co_await write();
        if (!sent) co_return false;
    }
    if (fault.what == transport_fault::half_open) {
        answer_.status = 0;
        record({});
        co_await swallow();
        co_return false;
    }
    if (served_.parked) {
        if (!poll_ended_) poll_ended_.emplace(core_->time, socket_.get_executor());
        watch_for_disconnect(*served_.parked);
        while (served_.parked && !closed_)
            co_await poll_ended_->wait();
    }
    if (fault.latency.count() != 0) co_await pause(fault.latency);
    if (closed_) co_return false;
    if (fault.what == transport_fault::dropped_before || fault.what == transport_fault::dropped_after) {
        answer_.status = 0;
        record({});
        co_return false;
    }
    append_answer();
    if (core_->unsaved()) co_await kept();
    if (closed_) co_return false;
    if (fault.what == transport_fault::truncated) {
        out_.resize(out_.size() - std::max<std::size_t>(answer_.body.size() / 2, 1));
        co_await write();
        co_return false;
    }
    if (fault.what == transport_fault::slow) co_await trickle(fault.bytes_per_second);
    co_return answer_.keep_alive;
}

void connection::deliver(result<sqs::receive_message_response> const& messages)
{
    served_.parked.reset();
    front_end::finish_poll(messages, answer_);
    if (core_->stopping()) answer_.keep_alive = false;
    if (poll_ended_) poll_ended_->ring();
}

void connection::saved()
{
    owed_ = false;
    if (saved_) saved_->ring();
}

/// No byte of an answer leaves before the journal has what the answer says.
asio::awaitable<void> connection::kept()
{
    if (!saved_) saved_.emplace(core_->time, socket_.get_executor());
    owed_ = true;
    core_->owe(*this);
    while (owed_ && !closed_)
        co_await saved_->wait();
}

asio::awaitable<void> connection::trickle(int bytes_per_second)
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

/// Waits until those before this one have their bodies. Whoever has waited for long gets room at once, at the cost of
/// those whose bodies have been coming for longer: some send no more, to keep others out.
asio::awaitable<void> connection::room()
{
    if (!room_) room_.emplace(core_->time, socket_.get_executor());
    std::optional<tick> const until = deadline_ - core_->options.body_timeout * 5 / 6;
    bool in_time = core_->time.now() < *until;
    while (in_time && !closed_ && core_->bodies.crowded(held_))
        in_time = co_await room_->wait(until);
    if (!in_time && !closed_) core_->limit_bodies(held_);
}

/// Reads and forgets until the client closes.
asio::awaitable<void> connection::swallow()
{
    in_request_ = false;
    for (std::size_t total = 0; total < most_swallowed && !closed_;) {
        in_.clear();
        auto const [ec, size] = co_await read_some(in_.prepare(read_at_once));
        if (ec) break;
        total += size;
    }
}

asio::awaitable<void> connection::pause(std::chrono::milliseconds length)
{
    if (!pause_) pause_ = core_->time.make_timer(socket_.get_executor());
    if (!closed_) co_await pause_->wait_until(core_->time.now() + length);
}

void connection::watch_for_disconnect(poll_id poll)
{
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this(), poll](boost::system::error_code ec) {
        if (ec || self->served_.parked != poll) return;
        char byte = 0;
        auto const size = self->socket_.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, ec);
        if (!ec && size != 0) return; // the next request, sent early
        self->core_->abandon(poll, self->core_->options.cancel_polls_on_disconnect);
        self->served_.parked.reset();
        self->close();
    });
}

} // namespace quern::broker
