#include "relay/relay_work.hpp"

#include "common/complaint.hpp"
#include "consume/consume_work.hpp"

#include <quern/relay/health.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <csignal>

namespace quern::app {
namespace {

namespace asio = boost::asio;

net::web_hook_options web_options(relay_settings const& how)
{
    auto out = how.web;
    out.connections = how.concurrency + 1; // and the health check's
    out.environment = aws::process_environment;
    return out;
}

/// Parts that have to live as long as the consumer.
struct station {
    station(asio::any_io_executor ex, relay_settings const& how, relay::queue_name from)
        : web(ex, web_options(how)), to(web, std::move(from), how.relay), keeps_rejected(how.relay.keeps_rejected),
          batches(how.relay.batches), reply(how.relay.reply), trace(how.relay.trace), format(how.relay.request.format)
    {
        if (how.checks_health) {
            auto options = how.health;
            options.unix_socket = how.relay.unix_socket;
            health = std::make_unique<relay::health_check>(ex, web, std::move(options), real_clock());
        }
    }

    net::web_hook_client web;
    relay::relay to;
    std::unique_ptr<relay::health_check> health;
    std::shared_ptr<asio::signal_set> told; // SIGHUP

    // These stay whatever the settings say then.
    bool keeps_rejected, batches;
    decltype(relay::relay_options::reply) reply;
    decltype(relay::relay_options::trace) trace;
    relay::body_format format; // an answer is read as its request was written
};

result<void> take_up(station& at, result<relay_settings> how)
{
    if (!how) return how.error();
    how->relay.keeps_rejected = at.keeps_rejected;
    how->relay.batches = at.batches;
    how->relay.reply = at.reply;
    how->relay.trace = at.trace;
    how->relay.request.format = at.format;
    if (auto const done = at.web.reload(); !done) return done;
    return at.to.reload(how->relay);
}

/// Takes the settings up at each SIGHUP. Those that cannot be used change nothing.
void reload_on_signal(std::shared_ptr<station> const& at, reread_settings const& reread)
{
    at->told->async_wait([at, reread](boost::system::error_code ec, int) {
        if (ec) return;
        if (auto const done = take_up(*at, reread()); done)
            log_line(log_level::info, "settings are read again");
        else
            log_line(log_level::error, fmt::format("settings stay as they were: {}", describe(done.error())));
        reload_on_signal(at, reread);
    });
}

/// Stands back while the health check fails; somebody else may do so too, so only changes are told.
void follow_health(std::shared_ptr<station> const& at, asio::any_io_executor ex, consumer& c)
{
    auto const changed = [&c](bool down, std::string const& why) {
        if (down)
            log_line(log_level::warning, fmt::format("the health check fails: {}", why));
        else
            log_line(log_level::info, "the health check succeeds again");
        c.report_outage(down);
    };
    auto const ended = [at](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    };
    asio::co_spawn(ex, at->health->run(changed), ended);
}

void keep_to(asio::any_io_executor ex, consume_work& all, std::optional<policy::rate> to)
{
    auto const done = [](std::exception_ptr bug, result<void> const&) { // fails after the drain alone
        if (bug) std::rethrow_exception(bug);
    };
    asio::co_spawn(ex, all.limit_rate(to), done);
}

} // namespace

std::string relay_statistics(
    relay::relay_counters const& n, std::optional<policy::rate> const& at_most, std::size_t connections)
{
    auto out = fmt::format(
        "requests {}, acknowledged {}, retried {}, rejected {}, unavailable {}, not sent {}, connections {}",
        n.requests, n.acked, n.retried, n.rejected, n.unavailable, n.not_sent, connections);
    if (n.maybe_done != 0) out += fmt::format(", perhaps done and retried {}", n.maybe_done);
    if (n.cancelled != 0) out += fmt::format(", cancelled {}", n.cancelled);
    if (n.refused != 0) out += fmt::format(", refused {}", n.refused);
    if (at_most) out += ", at most " + to_string(*at_most) + " now";
    return out;
}

asio::awaitable<result<void>> send_reply(
    sqs::api& sqs, std::string queue_url, delivery const& to, net::response const& answer)
{
    result<void> out;
    if (answer.body.empty()) co_return out;
    sqs::send_message_request letter(queue_url, answer.body);
    letter.attributes["QuernMessageId"] = {"String", std::string(to.id())};
    if (queue_url.ends_with(".fifo")) {
        letter.group_id = to.group().empty() ? std::string(to.id()) : std::string(to.group());
        letter.deduplication_id = to.id();
    }
    auto const sent = co_await sqs.send_message(std::move(letter));
    if (!sent) out = sent.error();
    co_return out;
}

constexpr std::size_t most_in_flight_of_fifo = 20'000; // SQS developer guide, quotas

result<consumer_work> relay_work(session& s, std::string const& queue_url, relay_settings const& how,
    consumer_options& settings, std::shared_ptr<consumer_news> heard, reread_settings reread,
    std::shared_ptr<asio::signal_set> told)
{
    auto const ex = s.io.get_executor();
    std::shared_ptr<station> at;
    try {
        at = std::make_shared<station>(ex, how, relay::queue_name::from_url(queue_url, s.options.where.region));
    } catch (std::exception const& e) {
        return failure(errc::invalid_option, e.what());
    }
    settings.outage.breaker = how.breaker;
    if (!how.dependency.is_empty()) {
        settings.outage.dependency =
            relay::dependency_by(how.dependency, relay::queue_name::from_url(queue_url, s.options.where.region));
    }
    settings.system_attributes = relay::system_attributes_for(how.relay.request);
    at->to.on_halt([heard](std::string const& why) { heard->end_with("a rule says halt: " + why); });

    settings.limits.handler_concurrency = how.concurrency; // each has a connection
    if (how.finds_concurrency) settings.concurrency.emplace();

    consumer_work out;
    out.program = "quern relay";
    out.handle = [at](std::string const&) { return at->to.handler(); };
    if (queue_url.ends_with(".fifo") && how.batch == 1 &&
        !settings.fairness.look_ahead) { // a receive may bring ten of one group, of which one may run
        settings.limits.max_in_flight = std::min<std::size_t>(10 * how.concurrency, most_in_flight_of_fifo);
    }
    if (how.batch > 1) {
        out.handle_many = [at](std::string const&) { return at->to.batch_handler(); };
        settings.batch.size = how.batch;
        settings.batch.window = how.batch_window;
        settings.batch.bytes = how.batch_bytes;
    }
    out.statistics = [at] { return relay_statistics(at->to.counters(), at->to.rate(), at->web.counters().open); };
    out.statistics_every = how.statistics_every;
    at->told = std::move(told);
    reload_on_signal(at, reread);
    out.started = [at, ex, paced = how.heeds_refusals](consume_work& all) {
        if (at->health) follow_health(at, ex, all.queues().front().of);
        if (paced) at->to.on_rate([ex, &all](std::optional<policy::rate> to) { keep_to(ex, all, to); });
    };
    out.ended = [at] {
        at->to.on_rate(nullptr);
        at->told->cancel();
        if (at->health) at->health->end();
    };
    out.keeps = std::move(at);
    return out;
}

asio::awaitable<std::optional<std::string>> wait_until_healthy(asio::any_io_executor ex, relay_settings const& how)
{
    net::web_hook_client web(ex, web_options(how));
    auto options = how.health;
    options.unix_socket = how.relay.unix_socket;
    relay::health_check health(ex, web, std::move(options), real_clock());
    auto const why = co_await health.well_within(*how.wait_healthy);
    co_return why;
}

} // namespace quern::app
