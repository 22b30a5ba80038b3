#include "relay/relay_work.hpp"

#include "common/complaint.hpp"
#include "common/on_signal.hpp"
#include "consume/consume_work.hpp"

#include <quern/core/detail/text/base64.hpp>
#include <quern/relay/health.hpp>
#include <quern/sqs/limits.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <csignal>

namespace quern::app {

using namespace quern::detail;

namespace {

namespace asio = boost::asio;

net::web_hook_options web_options(relay_settings const& how)
{
    auto out = how.web;
    out.connections = how.concurrency * (1 + how.routes.size()) + 1; // and the health check's
    out.environment = aws::process_environment;
    return out;
}

/// The relay's options for the queue of that number: the first, or that of a route.
relay::relay_options options_of(relay_settings const& how, std::size_t number)
{
    auto out = how.relay;
    if (number != 0 && number <= how.routes.size()) out.request.url = how.routes[number - 1].url;
    return out;
}

/// Parts that have to live as long as the consumers.
struct station {
    station(asio::any_io_executor ex, relay_settings const& how, std::vector<std::string> const& queue_urls,
        std::string const& region)
        : web(ex, web_options(how)), batches(how.relay.batches), reply(how.relay.reply), trace(how.relay.trace),
          clock_offset(how.relay.clock_offset), format(how.relay.request.format)
    {
        for (auto const& url : queue_urls)
            to.emplace_back(web, relay::queue_name::from_url(url, region), options_of(how, to.size()));
        if (how.checks_health) {
            auto options = how.health;
            options.unix_socket = how.relay.unix_socket;
            health = std::make_unique<relay::health_check>(ex, web, std::move(options), real_clock());
        }
    }

    net::web_hook_client web;
    std::vector<relay::relay> to; ///< of each queue
    std::unique_ptr<relay::health_check> health;
    std::shared_ptr<asio::signal_set> told; // SIGHUP

    // These stay whatever the settings say then.
    bool batches;
    decltype(relay::relay_options::reply) reply;
    decltype(relay::relay_options::trace) trace;
    decltype(relay::relay_options::clock_offset) clock_offset;
    relay::body_format format; // an answer is read as its request was written
};

/// Answers of the web service, for whoever watches the relay.
telemetry::reading numbers_of(relay::relay const& one, telemetry::source_labels labels)
{
    telemetry::numbers out(telemetry::part::web_hook, std::move(labels));
    auto const& all = one.counters().by_status;
    for (std::size_t i = 0; i != all.size(); ++i)
        out.add(telemetry::id::web_hook_requests, i, all[i]);
    return out.read();
}

result<void> take_up(station& at, result<relay_settings> how)
{
    if (!how) return how.error();
    how->relay.batches = at.batches;
    how->relay.reply = at.reply;
    how->relay.trace = at.trace;
    how->relay.clock_offset = at.clock_offset;
    how->relay.request.format = at.format;
    if (how->routes.size() + 1 != at.to.size())
        return failure(errc::invalid_option, "another number of routes needs a new start");
    if (auto const done = at.web.reload(); !done) return done;
    for (std::size_t i = 0; i != at.to.size(); ++i)
        if (auto const done = at.to[i].reload(options_of(*how, i)); !done) return done;
    return {};
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
void follow_health(std::shared_ptr<station> const& at, asio::any_io_executor ex, consume_work& all)
{
    auto const changed = [&all](bool down, std::string const& why) {
        if (down)
            log_line(log_level::warning, fmt::format("the health check fails: {}", why));
        else
            log_line(log_level::info, "the health check succeeds again");
        for (auto const& q : all.queues())
            q.of.report_outage(down);
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

relay::relay_counters sum_of(std::vector<relay::relay> const& all)
{
    relay::relay_counters out;
    for (auto const& each : all) {
        auto const& n = each.counters();
        out.requests += n.requests;
        out.acked += n.acked;
        out.retried += n.retried;
        out.rejected += n.rejected;
        out.unavailable += n.unavailable;
        out.not_sent += n.not_sent;
        out.maybe_done += n.maybe_done;
        out.refused += n.refused;
        out.cancelled += n.cancelled;
        out.unreplied += n.unreplied;
    }
    return out;
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
    if (n.unreplied != 0) out += fmt::format(", without their reply {}", n.unreplied);
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
    if (!sqs::is_message_text(answer.body)) { // SQS takes no such bytes, today or tomorrow
        letter.body = text::base64_encode(answer.body);
        letter.attributes["QuernEncoding"] = {"String", "base64"};
    }
    if (queue_url.ends_with(".fifo")) {
        letter.group_id = to.group().empty() ? std::string(to.id()) : std::string(to.group());
        letter.deduplication_id = to.id();
    }
    auto const sent = co_await sqs.send_message(std::move(letter));
    if (!sent) out = sent.error();
    co_return out;
}

constexpr std::size_t most_in_flight_of_fifo = 20'000; // SQS developer guide, quotas

result<consumer_work> relay_work(session& s, std::vector<std::string> const& queue_urls, relay_settings const& how,
    consumer_options& settings, std::shared_ptr<consumer_news> heard, reread_settings reread,
    std::shared_ptr<asio::signal_set> told)
{
    auto const ex = s.io.get_executor();
    std::shared_ptr<station> at;
    try {
        at = std::make_shared<station>(ex, how, queue_urls, s.options.where.region);
    } catch (std::exception const& e) {
        return failure(errc::invalid_option, e.what());
    }
    settings.outage.breaker = how.breaker;
    if (!how.dependency.is_empty()) {
        settings.outage.dependency = relay::dependency_by(
            how.dependency, relay::queue_name::from_url(queue_urls.front(), s.options.where.region));
    }
    settings.system_attributes = relay::system_attributes_for(how.relay.request);
    for (auto& each : at->to)
        each.on_halt([heard](std::string const& why) { heard->end_with("a rule says halt: " + why); });

    settings.limits.handler_concurrency = how.concurrency; // each has a connection
    if (how.finds_concurrency) settings.concurrency.emplace();

    consumer_work out;
    out.program = "quern relay";
    auto const number_of = [queue_urls](std::string const& url) {
        return static_cast<std::size_t>(std::ranges::find(queue_urls, url) - queue_urls.begin());
    };
    out.handle = [at, number_of](std::string const& url) { return at->to[number_of(url)].handler(); };
    bool const has_fifo = std::ranges::any_of(queue_urls, [](auto const& url) { return url.ends_with(".fifo"); });
    if (has_fifo && how.batch == 1 &&
        !settings.fairness.look_ahead) { // a receive may bring ten of one group, of which one may run
        settings.limits.max_in_flight =
            std::min<std::size_t>(10 * how.concurrency * queue_urls.size(), most_in_flight_of_fifo);
    }
    if (how.batch > 1) {
        out.handle_many = [at, number_of](std::string const& url) { return at->to[number_of(url)].batch_handler(); };
        settings.batch.size = how.batch;
        settings.batch.window = how.batch_window;
        settings.batch.bytes = how.batch_bytes;
    }
    out.statistics = [at] {
        return relay_statistics(sum_of(at->to), at->to.front().rate(), at->web.counters().open);
    };
    out.statistics_every = how.statistics_every;
    out.show = [at, number_of](
                   std::string const& url, telemetry::source_labels const& labels, metrics::collection& in) {
        in.add([at, number = number_of(url), labels] { return numbers_of(at->to[number], labels); });
    };
    at->told = std::move(told);
    reload_on_signal(at, reread);
    std::vector<std::string> ways{how.url};
    for (auto const& route : how.routes)
        ways.push_back(route.url.origin());
    out.started = [at, ex, queue_urls, ways = std::move(ways), paced = how.heeds_refusals && queue_urls.size() == 1](
                      consume_work& all) {
        for (std::size_t i = 0; i != ways.size(); ++i)
            log_line(log_level::info, fmt::format("{} goes to {}", sqs::queue_name_in(queue_urls[i]), ways[i]));
        if (at->health) follow_health(at, ex, all);
        if (paced) at->to.front().on_rate([ex, &all](std::optional<policy::rate> to) { keep_to(ex, all, to); });
    };
    out.ended = [at] {
        at->to.front().on_rate(nullptr);
        at->told->cancel();
        if (at->health) at->health->end();
    };
    out.keeps = std::move(at);
    return out;
}

asio::awaitable<result<bool>> wait_until_healthy(asio::io_context& io, relay_settings const& how)
{
    auto const ex = io.get_executor();
    net::web_hook_client web(ex, web_options(how));
    auto options = how.health;
    options.unix_socket = how.relay.unix_socket;
    relay::health_check health(ex, web, std::move(options), real_clock());
    bool is_told_to_end = false;
    auto const end = [&] {
        is_told_to_end = true;
        health.end();
        web.close();
    };
    on_signal const interrupted(io, SIGINT, end), terminated(io, SIGTERM, end);
    auto const why = co_await health.well_within(*how.wait_healthy);
    if (why && !is_told_to_end) co_return failure(errc::timed_out, *why);
    co_return !is_told_to_end;
}

} // namespace quern::app
