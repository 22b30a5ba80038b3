#include <quern/broker/detail/server_core.hpp>

#include <quern/broker/detail/connection.hpp>
#include <quern/broker/detail/server_tls.hpp>
#include <quern/core/detail/text/date.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <random>
#include <vector>

namespace quern::broker {

namespace asio = boost::asio;
using asio::ip::tcp;

server_core::server_core(asio::any_io_executor ex, server_options opts, engine_options queues, clock& t)
    : options(std::move(opts)), time(t), broker(std::move(queues), options), request_ids(std::random_device{}()),
      bodies(options.max_unproven_bytes), tls(server_tls(options).value()), executor_(ex), listener_(ex, t),
      clockwork_(time, ex), emptied_(time, ex), began_(time.now()), began_at_(time.wall())
{
    broker.show_metrics([this] { return metrics(); });
}

result<void> server_core::listen()
{
    if (auto const bound = listener_.listen(options.host, options.port); !bound) return bound.error();
    origin = listener_.origin(tls ? "https" : "http");

    auto const self = shared_from_this();
    auto const& o = options;
    net::listener::host host;
    host.owner = self;
    host.take = [this](tcp::socket s) { take(std::move(s)); };
    host.look = [this](tick at) { return look(at); };
    host.look_every =
        net::listener::interval_for({o.handshake_timeout, o.header_timeout, o.body_timeout, o.idle_timeout});
    listener_.begin(std::move(host));
    asio::co_spawn(executor_, keep_time(), [self](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug); // a broker whose time stands still would be worse
    });
    return {};
}

void server_core::take(tcp::socket socket)
{
    ++counters.connections;
    if (open_.size() >= options.max_connections && !make_room()) {
        ++counters.cut_connections;
        return;
    }
    auto const client = std::make_shared<connection>(shared_from_this(), std::move(socket));
    auto const ended = [client](std::exception_ptr) { client->close(); };
    asio::co_spawn(executor_, client->run(), ended);
}

asio::awaitable<void> server_core::keep_time()
{
    while (!shut_) {
        wakes_at_ = broker.queues().next_event();
        std::optional<tick> until;
        if (wakes_at_) until = time.now() + (*wakes_at_ - now());
        co_await clockwork_.wait(until);
        if (shut_) break;
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

bool server_core::look(tick at)
{
    now(); // after a sleep somebody has to look at the calendar first
    for (auto* const c : open_) {
        if (c->deadline() <= at) cut(*c);
    }
    return !open_.empty();
}

/// At the limit of connections those that have proved nothing give way, the oldest first.
bool server_core::make_room()
{
    connection* oldest = nullptr;
    for (auto* const c : open_) {
        if (!c->proven() && !c->closed() && (!oldest || c->since() < oldest->since())) oldest = c;
    }
    if (oldest) cut(*oldest);
    return oldest != nullptr;
}

void server_core::make_way()
{
    bodies.each_with_room([](body_budget::share const& one) { one.whose()->make_way(); });
}

void server_core::limit_bodies(body_budget::share const& latest)
{
    while (bodies.crowded(latest))
        cut(*bodies.oldest()->whose());
}

void server_core::limit_unsent(connection const& latest)
{
    // It must not cost those their connection who hold next to nothing.
    auto const spared = options.max_unproven_bytes / 4;
    while (unsent_bytes > options.max_unproven_bytes && unsent_bytes - latest.unsent_bytes() > spared) {
        connection* largest = nullptr;
        for (auto* const c : open_) {
            if (c != &latest && (!largest || c->unsent_bytes() > largest->unsent_bytes())) largest = c;
        }
        cut(*largest);
    }
}

void server_core::cut(connection& c)
{
    ++counters.cut_connections;
    c.close();
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
    if (unsaved() && !std::exchange(saving_, true)) {
        // Behind all requests that have arrived already: they share one commit.
        asio::post(executor_, [self = shared_from_this()] { self->save(); });
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
    if (shut_) return;
    auto const kept = broker.queues().save();
    if (kept) {
        for (auto* const c : std::exchange(owed_, {}))
            c->saved();
        return;
    }
    shut();
    if (options.journal_failed) options.journal_failed(kept.error());
}

void server_core::enter(connection& c)
{
    open_.insert(&c);
}

void server_core::leave(connection& c)
{
    open_.erase(&c);
    owed_.erase(&c);
    if (open_.empty()) emptied_.ring();
}

void server_core::park(poll_id id, connection& c)
{
    parked_.emplace(id, &c);
}

void server_core::abandon(poll_id id, bool cancel)
{
    parked_.erase(id);
    if (cancel) broker.queues().cancel_poll(id);
}

std::string_view server_core::date()
{
    auto const second = std::chrono::floor<std::chrono::seconds>(time.wall());
    if (second != date_at_) {
        date_at_ = second;
        date_ = text::http_date(second);
    }
    return date_;
}

server_counters server_core::all_counters() const
{
    auto out = counters;
    out.open_connections = open();
    out.parked_polls = parked();
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
    stopping_ = true;
    listener_.stop_accepting();

    result<sqs::receive_message_response> const nothing{sqs::receive_message_response()};
    for (auto const& [id, waiting] : std::exchange(parked_, {})) {
        broker.queues().cancel_poll(id);
        waiting->deliver(nothing);
    }
    for (auto* const c : open_)
        c->finish();

    std::optional<tick> deadline = time.now() + limit;
    while (!open_.empty()) {
        auto const rung = co_await emptied_.wait(deadline);
        if (rung) continue;
        for (auto* const c : open_)
            c->close();
        deadline.reset();
    }
    shut();
}

void server_core::shut()
{
    stopping_ = true;
    shut_ = true;
    listener_.close();
    clockwork_.ring();
    for (auto* const c : open_)
        c->close();
}

} // namespace quern::broker
