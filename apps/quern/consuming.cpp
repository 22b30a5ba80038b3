#include "consuming.hpp"

#include "depth.hpp"
#include "explain_on_signal.hpp"
#include "report_file.hpp"

#include <quern/consumer/client_options.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>

namespace quern::app {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// Keys are found once for both.
sqs::client_options client_options_from(session const& s, consumer_options const& o)
{
    auto options = s.options;
    options.credentials = s.sqs.credentials();
    return client_options_for(o, std::move(options));
}

/// Completes when the consumer has drained: because of a signal, of an output that broke, of a queue that ran empty,
/// or because it was refused from the beginning.
asio::awaitable<void> consume_until_drained(session& s, consume_options const& o, std::string const& url,
    consumer_work const& job, consumer& c, std::shared_ptr<consumer_news> heard)
{
    auto const limit = std::chrono::seconds(o.drain_deadline);
    auto const over = [heard](std::exception_ptr bug, result<drain_report> end) {
        if (bug) std::rethrow_exception(bug);
        heard->end = std::move(end);
        heard->arrived.ring();
    };
    c.drain_on({SIGINT, SIGTERM}, limit);
    asio::signal_set told(s.io, SIGINT, SIGTERM);
    told.async_wait([](boost::system::error_code ec, int) {
        if (!ec) spdlog::info("draining; a second signal cancels the handlers that run");
    });
    auto const explained = std::make_shared<explain_on_signal>(s.io, c);
    explained->wait();
    asio::co_spawn(s.io, c.run(), over);
    spdlog::info("consuming {}", url);
    if (job.started) job.started(c);

    empty_watch watch(*s.consumers, url);
    bool draining = false;
    auto tell_at = real_clock().now() + job.statistics_every;
    while (!heard->end) {
        std::optional<tick> look_at, wake_at;
        if (o.until_empty && !draining) wake_at = look_at = real_clock().now() + 100ms;
        if (job.statistics_every.count() != 0) wake_at = std::min(tell_at, look_at.value_or(tell_at));
        co_await heard->arrived.wait(wake_at);

        if (job.statistics_every.count() != 0 && real_clock().now() >= tell_at) {
            tell_at = real_clock().now() + job.statistics_every;
            spdlog::info("{}", job.statistics());
        }
        bool enough = heard->complaint.has_value();
        if (look_at && !enough && !heard->end) {
            auto const empty = co_await watch.is_empty(c);
            if (empty)
                enough = *empty;
            else
                spdlog::warn("cannot tell whether the queue is empty: {}", explain(empty.error(), s.sqs.endpoint()));
        }
        if (enough && !std::exchange(draining, true)) c.stop(limit);
    }
    explained->end();
    if (job.ended) job.ended();
    heard->report = co_await c.drained();
}

exit_code complain_of_report(consume_options const& o, failure const& why)
{
    return complain(fmt::format("--report {}: cannot be written: {}", o.report, describe(why)));
}

/// Without a poison queue a rejected message is deleted, and nobody has handled it.
std::uint64_t deleted_unhandled(consume_options const& o, consumer_counters const& done)
{
    return o.poison_queue.empty() ? done.rejected : 0;
}

std::string closing_line(consume_options const& o, consumer_counters const& done)
{
    auto text = fmt::format("received {}, acknowledged {}", done.received, done.acked);
    if (done.rejected != 0) text += fmt::format(", rejected {}", done.rejected);
    if (deleted_unhandled(o, done) != 0) text += " (deleted: there is no --poison-queue)";
    return text + fmt::format(", with {} requests", done.polls + done.settle_calls);
}

int judge(session const& s, consume_options const& o, consumer_news const& heard, consumer_counters const& done,
    report_file* to)
{
    auto const& report = heard.report;
    spdlog::info("{}", closing_line(o, done));
    spdlog::info("drained: {}", to_json(report));
    int code = ok;
    if (!report.clean()) {
        code = complain("the drain left messages behind that come again later: " + to_json(report), not_drained);
    }
    if (auto const gone = deleted_unhandled(o, done); gone != 0) {
        code = complain(
            fmt::format("{} rejected and deleted unhandled; --poison-queue would have kept them", gone), deleted);
    }
    if (to) {
        if (auto const written = to->write(to_json(report) + '\n'); !written)
            code = complain_of_report(o, written.error());
    }
    if (heard.end->has_error()) code = s.complain(heard.end->error(), o.queue);
    if (heard.complaint) code = complain(*heard.complaint);
    return code;
}

/// The URL of a queue that is there. An error other than that one may not look at it is told in its name.
asio::awaitable<result<std::string>> existing_queue(session& s, std::string name, bool must_count)
{
    auto url = co_await queue_url(s.sqs, name);
    if (!url) co_return url.error();
    auto const there = co_await queue_depth(s.sqs, *url);
    bool const may_ask = there || !there.error().service_code.starts_with("AccessDenied");
    if (!there && (may_ask || must_count)) co_return there.error();
    co_return url;
}

} // namespace

asio::awaitable<int> consume_queue(session& s, consume_options const& o, make_work const& make)
{
    if (auto const why = conflict(o); !why.empty()) co_return complain(why, usage);
    auto const url = co_await existing_queue(s, o.queue, o.until_empty);
    if (!url) co_return s.complain(url.error(), o.queue);

    auto settings = options_from(o);
    if (!o.poison_queue.empty()) {
        auto const poison = co_await existing_queue(s, o.poison_queue, false);
        if (!poison) co_return s.complain(poison.error(), "--poison-queue " + o.poison_queue);
        if (*poison == *url)
            co_return complain("--poison-queue is the queue itself: what is rejected would come again", usage);
        settings.poison_queue_url = *poison;
    }
    std::optional<report_file> report;
    if (!o.report.empty()) {
        auto opened = report_file::open(o.report);
        if (!opened) co_return complain_of_report(o, opened.error());
        report.emplace(std::move(*opened));
    }

    auto const ex = s.io.get_executor();
    auto const heard = std::make_shared<consumer_news>(ex);
    auto job = make(*url, settings, heard);
    if (!job) co_return complain(job.error());
    if (auto const wrong = settings.validate()) co_return complain(*wrong);
    auto& client = s.consumers.emplace(ex, client_options_from(s, settings));
    consumer c(ex, client, *url, job->handle, settings);
    co_await consume_until_drained(s, o, *url, *job, c, heard);
    if (job->statistics) spdlog::info("{}", job->statistics());
    co_return judge(s, o, *heard, c.counters(), report ? &*report : nullptr);
}

} // namespace quern::app
