#include <quern/broker/detail/server_core.hpp>

#include <quern/broker/detail/errors.hpp>
#include <quern/broker/detail/server_tls.hpp>
#include <quern/net/detail/http_connection.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <optional>
#include <random>
#include <string>
#include <utility>

namespace quern::broker::detail {

namespace asio = boost::asio;

namespace {

using harm = net::detail::http_turn::harm;

/// Harm that is done to what leaves; the other faults are answers.
harm planted_by(transport_fault what)
{
    switch (what) {
    case transport_fault::dropped_before:
    case transport_fault::dropped_after: return harm::unanswered;
    case transport_fault::half_open: return harm::half_open;
    case transport_fault::truncated: return harm::truncated;
    case transport_fault::slow: return harm::slow;
    case transport_fault::none:
    case transport_fault::throttled:
    case transport_fault::access_denied:
    case transport_fault::server_error: break;
    }
    return harm::none;
}

net::detail::http_limits limits_of(server_options const& o)
{
    net::detail::http_limits out{};
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

/// Talk with one client: has its requests carried out, counts and logs their answers.
class session final : public net::detail::http_session {
public:
    session(server_core&, net::detail::http_connection&);

    gate look(net::detail::http_request const&) override;
    net::detail::http_turn serve(net::detail::http_request const&) override;
    void refuse(net::detail::http_request const&, int status, std::string const& why) override;
    void conclude(net::detail::http_request const&) override;
    void gone(bool hung_up) override;
    net::detail::http_answer& answer() override { return answer_; }

    /// The long poll that the client waits for has ended.
    void deliver(result<sqs::receive_message_response> const&);

private:
    void begin();

    server_core& core_;
    net::detail::http_connection& at_;
    std::string peer_; ///< for the access log
    http_answer answer_;
    std::string_view operation_;
    std::optional<poll_id> parked_;
    tick began_{};
};

session::session(server_core& core, net::detail::http_connection& at) : core_(core), at_(at)
{
    if (core_.options.access_log) peer_ = at_.peer();
}

void session::begin()
{
    if (core_.options.access_log) began_ = core_.time.now();
    answer_.clear();
    answer_.request_id = core_.request_ids.uuid();
    operation_ = {};
}

session::gate session::look(net::detail::http_request const& request)
{
    return core_.broker.refuses(request, core_.time.wall()) ? gate::passing : gate::open;
}

net::detail::http_turn session::serve(net::detail::http_request const& request)
{
    begin();
    auto const served = core_.broker.serve(request, core_.base, core_.now(), core_.time.wall(), answer_);
    if (request.method == "HEAD") answer_.body.clear();
    operation_ = served.operation;
    parked_ = served.parked;
    if (served.fault.what != transport_fault::none) ++core_.tallied.faults;
    if (parked_) core_.park(*parked_, *this);
    core_.settle(); // which may deliver what has just been parked

    net::detail::http_turn out;
    out.proven = served.let_in;
    out.later = parked_.has_value();
    out.planted = planted_by(served.fault.what);
    out.latency = served.fault.latency;
    out.bytes_per_second = served.fault.bytes_per_second;
    return out;
}

void session::refuse(net::detail::http_request const&, int status, std::string const& why)
{
    begin();
    write_failure(fail(error::serialization, "The request is no valid HTTP: " + why + "."), answer_);
    answer_.status = status;
}

void session::conclude(net::detail::http_request const& request)
{
    auto const status = answer_.status;
    auto& to = answer_.more_headers;
    to.append("\r\nx-amzn-RequestId: ").append(answer_.request_id);
    if (!answer_.query_error.empty() && !answer_.xml)
        to.append("\r\nx-amzn-query-error: ").append(answer_.query_error);
    if (status >= 400) ++core_.tallied.errors;
    core_.broker.count(operation_, status);
    core_.tallied.request_bytes += request.body.size();
    core_.tallied.answer_bytes += answer_.body.size();
    if (!core_.options.access_log) return;
    access_record line;
    line.peer = peer_;
    line.operation = operation_;
    line.status = status;
    line.error_code = answer_.error_code();
    if (status != 0) line.request_id = answer_.request_id;
    line.took = core_.time.now() - began_;
    line.request_bytes = request.body.size();
    line.answer_bytes = answer_.body.size();
    core_.options.access_log(line);
}

void session::gone(bool hung_up)
{
    auto const poll = std::exchange(parked_, {});
    if (poll) core_.abandon(*poll, hung_up && core_.options.cancel_polls_on_disconnect);
}

void session::deliver(result<sqs::receive_message_response> const& messages)
{
    parked_.reset();
    front_end::finish_poll(messages, answer_);
    if (core_.stopping()) answer_.keep_alive = false;
    at_.ready();
}

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

std::unique_ptr<net::detail::http_session> server_core::greet(net::detail::http_connection& client)
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

} // namespace quern::broker::detail
