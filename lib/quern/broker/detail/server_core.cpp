#include <quern/broker/detail/server_core.hpp>

#include <quern/broker/detail/server_tls.hpp>
#include <quern/broker/detail/session.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <random>

namespace quern::broker {

namespace asio = boost::asio;

namespace {

net::http_limits limits_of(server_options const& o)
{
    net::http_limits out{};
    out.max_header_bytes = o.max_header_bytes;
    out.max_body_bytes = o.max_body_bytes;
    out.max_connections = o.max_connections;
    out.max_held_bytes = out.max_unsent_bytes = o.max_unproven_bytes;
    out.handshake_timeout = o.handshake_timeout;
    out.header_timeout = o.header_timeout;
    out.body_timeout = out.write_timeout = o.body_timeout;
    out.idle_timeout = o.idle_timeout;
    return out;
}

} // namespace

server_core::server_core(asio::any_io_executor ex, server_options opts, engine_options queues, clock& t)
    : http_server(ex, limits_of(opts), server_tls(opts).value(), t), options(std::move(opts)),
      broker(std::move(queues), options), request_ids(std::random_device{}()), clockwork_(time, ex),
      began_(time.now()), began_at_(time.wall())
{
    broker.show_metrics([this] { return metrics(); });
}

result<void> server_core::listen()
{
    if (auto const bound = http_server::listen(options.host, options.port); !bound) return bound.error();
    base = origin();
    asio::co_spawn(get_executor(), keep_time(), [self = shared_from_this()](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug); // a broker whose time stands still would be worse
    });
    return {};
}

std::unique_ptr<net::http_session> server_core::greet(net::http_connection& client)
{
    return std::make_unique<session>(*this, client);
}

asio::awaitable<void> server_core::keep_time()
{
    while (!is_shut()) {
        wakes_at_ = broker.queues().next_event();
        std::optional<tick> until;
        if (wakes_at_) until = time.now() + (*wakes_at_ - now());
        co_await clockwork_.wait(until);
        if (is_shut()) break;
        broker.queues().advance(now());
        settle();
    }
}

instant server_core::now()
{
    auto const steady = began_at_ + (time.now() - began_);
    auto const missed = time.wall() - steady;
    if (missed <= std::chrono::seconds(1)) return steady;
    began_at_ += missed;
    clockwork_.ring(); // what it waits for comes sooner
    return steady + missed;
}

void server_core::settle()
{
    while (auto const ended = broker.queues().take_ready()) {
        auto const at = parked_.find(ended->id);
        if (at == parked_.end()) continue; // nobody there any more: what was received is in flight all the same
        auto& waiting = *at->second;
        parked_.erase(at);
        waiting.deliver(ended->answer);
    }
    if (holds_back() && !std::exchange(saving_, true)) {
        // Behind all requests that have arrived already: they share one commit.
        asio::post(get_executor(), [this, self = shared_from_this()] { save(); });
    }
    auto const next = broker.queues().next_event();
    if (next && (!wakes_at_ || *next < *wakes_at_)) {
        wakes_at_ = next;
        clockwork_.ring();
    }
}

void server_core::save()
{
    saving_ = false;
    if (is_shut()) return;
    auto const kept = broker.queues().save();
    if (kept) return release();
    shut();
    if (options.journal_failed) options.journal_failed(kept.error());
}

void server_core::park(poll_id id, session& waiting)
{
    parked_.emplace(id, &waiting);
}

void server_core::abandon(poll_id id, bool cancel)
{
    parked_.erase(id);
    if (cancel) broker.queues().cancel_poll(id);
}

server_counters server_core::all_counters() const
{
    auto out = tallied;
    out.connections = counters().connections;
    out.cut_connections = counters().cut;
    out.open_connections = open();
    out.parked_polls = parked_.size();
    for (std::size_t i = 0; i != front_end::operation_count; ++i) {
        if (auto const n = broker.requests(i); n != 0) out.requests[front_end::operation_name(i)] = n;
    }
    return out;
}

std::string server_core::metrics()
{
    auto& queues = broker.queues();
    queues.set_caller({});
    return metrics_text(queues.look_at_queues(now()), broker.answers(), all_counters(), now());
}

asio::awaitable<void> server_core::stop(std::chrono::milliseconds limit)
{
    auto const self = shared_from_this();
    begin_to_stop();
    result<sqs::receive_message_response> const nothing{sqs::receive_message_response()};
    for (auto const& [id, waiting] : std::exchange(parked_, {})) {
        broker.queues().cancel_poll(id);
        waiting->deliver(nothing);
    }
    co_await drain(limit);
    shut();
}

void server_core::shut()
{
    http_server::shut();
    clockwork_.ring();
}

} // namespace quern::broker
