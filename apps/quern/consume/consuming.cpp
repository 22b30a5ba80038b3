#include "consume/consuming.hpp"

#include "common/complaint.hpp"
#include "common/depth.hpp"
#include "common/flag_source.hpp"
#include "common/report_file.hpp"
#include "common/service_manager.hpp"
#include "consume/consume_work.hpp"
#include "consume/explain_on_signal.hpp"
#include "consume/metrics_export.hpp"
#include "consume/settings_file.hpp"
#include "consume/settings_on_signal.hpp"

#include <quern/consumer/client_options.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <csignal>

namespace quern::app {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// Keys are found once for both. Connections are opened as they are needed, and settings may want more than the
/// options.
sqs::client_options client_options_from(
    session const& s, consumer_options const& o, std::size_t queues, bool may_be_turned)
{
    auto options = s.options;
    options.credentials = s.sqs.credentials();
    auto& lanes = options.connections;
    lanes.data_connections = std::max(lanes.data_connections, queues * (may_be_turned ? 1'000 : o.max_polls));
    lanes.control_connections = std::max(lanes.control_connections, queues * o.max_settle_calls);
    return client_options_for(o, std::move(options));
}

/// Whether all queues have run empty; false as well where that cannot be told.
asio::awaitable<bool> all_empty(session& s, consume_work& work, std::vector<empty_watch>& watches)
{
    bool out = true;
    for (std::size_t i = 0; i < watches.size(); ++i) {
        auto const empty = co_await watches[i].stays_empty(work.queues()[i].of);
        if (!empty)
            log_line(log_level::warning,
                fmt::format("cannot tell whether the queue is empty: {}", explain(empty.error(), s.sqs.endpoint())));
        out = out && empty && *empty;
    }
    co_return out;
}

/// Completes when all have drained: because of a signal, of an output that broke, of queues that ran empty, or
/// because one was refused from the beginning.
asio::awaitable<void> consume_until_drained(session& s, consume_options const& o, consumer_work const& job,
    consume_work& work, std::shared_ptr<consumer_news> heard)
{
    auto const limit = std::chrono::seconds(o.drain_deadline);
    auto const over = [heard](std::exception_ptr bug, result<drain_report> end) {
        if (bug) std::rethrow_exception(bug);
        heard->end = std::move(end);
        heard->arrived.ring();
    };
    work.drain_on({SIGINT, SIGTERM}, limit);
    auto const manager = std::make_shared<service_manager>(s.io.get_executor());
    asio::signal_set told(s.io, SIGINT, SIGTERM);
    told.async_wait([manager](boost::system::error_code ec, int) {
        if (ec) return;
        manager->stopping();
        log_line(log_level::info, "draining; a second signal cancels the handlers that run");
    });
    std::vector<std::shared_ptr<explain_on_signal>> explained;
    std::vector<empty_watch> watches;
    for (auto const& q : work.queues()) {
        auto const name = work.queues().size() == 1 ? "" : q.url;
        explained.push_back(std::make_shared<explain_on_signal>(s.io, q.of, name));
        explained.back()->wait();
        watches.emplace_back(*s.consumers, q.url);
        log_line(log_level::info, fmt::format("consuming {}", q.url));
    }
    asio::co_spawn(s.io, work.run(), over);
    if (job.started) job.started(work);
    auto const& all = work.queues();
    manager->ready("consuming " + (all.size() == 1 ? all.front().url : std::to_string(all.size()) + " queues"));

    bool draining = false;
    auto tell_at = real_clock().now() + job.statistics_every;
    while (!heard->end) {
        std::optional<tick> look_at, wake_at;
        if (o.until_empty && !draining) wake_at = look_at = real_clock().now() + 100ms;
        if (job.statistics_every.count() != 0) wake_at = std::min(tell_at, look_at.value_or(tell_at));
        co_await heard->arrived.wait(wake_at);

        if (job.statistics_every.count() != 0 && real_clock().now() >= tell_at) {
            tell_at = real_clock().now() + job.statistics_every;
            log_line(log_level::info, job.statistics());
        }
        bool enough = heard->complaint.has_value();
        if (look_at && !enough && !heard->end) enough = co_await all_empty(s, work, watches);
        if (!enough || std::exchange(draining, true)) continue;
        manager->stopping();
        work.stop(limit);
    }
    for (auto const& one : explained)
        one->end();
    if (job.ended) job.ended();
    heard->report = co_await work.drained();
}

exit_code complain_of_report(consume_options const& o, failure const& why)
{
    return complain(fmt::format("--report {}: cannot be written: {}", o.report, describe(why)));
}

std::string closing_line(consumer_counters const& done)
{
    auto text = fmt::format("received {}, acknowledged {}", done.received, done.acked);
    if (done.rejected != 0) text += fmt::format(", rejected {}", done.rejected);
    if (done.discarded != 0) text += fmt::format(" ({} deleted: there is no queue for them)", done.discarded);
    return text + fmt::format(", with {} requests", done.polls + done.settle_calls);
}

/// The report of all, and where there are several queues what became of the messages of each.
std::string whole_report(drain_report const& all, consume_work const& work)
{
    auto text = to_json(all);
    if (work.queues().size() == 1) return text;
    text.pop_back();
    std::string_view before = ",\"queues\":[";
    for (auto const& q : work.queues()) {
        auto const done = q.of.counters();
        text += fmt::format(
            R"({}{{"queue_url":"{}","received":{},"acknowledged":{},"put_off":{},"released":{},"rejected":{},"lost":{}}})",
            before, q.url, done.received, done.acked, done.retried, done.released, done.rejected, done.lost);
        before = ",";
    }
    return text + "]}";
}

/// Which queue was refused, and why. Where there are several, its name goes along.
asio::awaitable<int> complain_of_end(session const& s, consume_options const& o, consume_work& work)
{
    for (std::size_t i = 0; i < o.queues.size(); ++i) {
        auto const end = co_await work.queues()[i].of.run();
        if (end.has_error()) co_return s.complain(end.error(), o.queues[i]);
    }
    co_return failed;
}

/// For what has to be sent at the end: what a drain has left of its time, a moment at least.
std::chrono::milliseconds rest_of(consume_options const& o, drain_report const& r)
{
    std::chrono::milliseconds const limit = std::chrono::seconds(o.drain_deadline);
    return std::clamp<std::chrono::milliseconds>(limit - r.took, 500ms, 5s);
}

std::chrono::milliseconds left_until(tick at)
{
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(at - real_clock().now()), 100ms);
}

int judge(consume_options const& o, consumer_news const& heard, consume_work const& work, report_file* to)
{
    auto const& report = heard.report;
    auto const several = work.queues().size() != 1;
    consumer_counters done;
    for (auto const& q : work.queues()) {
        auto const its = q.of.counters();
        log_line(
            log_level::info, fmt::format("{}{}{}", several ? q.url : "", several ? ": " : "", closing_line(its)));
        done.discarded += its.discarded;
    }
    log_line(log_level::info, fmt::format("drained: {}", to_json(report)));
    int code = ok;
    if (!report.clean()) {
        code = complain("the drain left messages behind that come again later: " + to_json(report), not_drained);
    }
    if (done.discarded != 0) {
        code = complain(
            fmt::format("{} rejected and deleted unhandled; --poison-queue would have kept them", done.discarded),
            deleted);
    }
    if (to) {
        if (auto const written = to->write(whole_report(report, work) + '\n'); !written)
            code = complain_of_report(o, written.error());
    }
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

asio::awaitable<int> consume_queues(session& s, consume_options const& o, make_work const& make)
{
    if (auto const why = conflict(o); !why.empty()) co_return complain(why, usage);
    std::vector<std::string> urls;
    for (auto const& queue : o.queues) {
        auto const url = co_await existing_queue(s, queue, o.until_empty);
        if (!url) co_return s.complain(url.error(), queue);
        if (std::ranges::find(urls, *url) != urls.end())
            co_return complain("the queue " + queue + " is named twice", usage);
        urls.push_back(*url);
    }

    auto settings = options_from(o);
    auto const base = consumer_limits::of(settings);
    consumer_limits at_first = base;
    if (!o.settings.empty()) {
        auto const found = load_limits(o.settings);
        if (!found) co_return complain(found.error());
        at_first = found->over(base);
    }
    if (!o.flag.empty()) {
        auto const interval = std::chrono::duration_cast<std::chrono::seconds>(settings.flag.interval);
        auto flag = open_flag(s, "--flag", o.flag, interval);
        if (!flag) co_return complain(flag.error());
        settings.flag.source = std::move(*flag);
    }
    if (!o.poison_queue.empty()) {
        auto const poison = co_await existing_queue(s, o.poison_queue, false);
        if (!poison) co_return s.complain(poison.error(), "--poison-queue " + o.poison_queue);
        if (std::ranges::find(urls, *poison) != urls.end())
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
    auto traced = trace_export::to(s, o.traces);
    if (!traced) co_return complain(traced.error());
    heard->traces = std::move(*traced);
    auto* const traces = heard->traces.get();
    auto job = make(urls, settings, heard);
    if (!job) co_return complain(job.error());
    std::shared_ptr<idempotency_work> once;
    if (!o.idempotency.store.empty()) {
        auto made = co_await idempotency_work::make(s, o.idempotency);
        if (!made) co_return complain(made.error());
        once = std::move(*made);
        once->add_attributes(settings);
        job->handle = [once, inner = job->handle](std::string const& url) { return once->wrap(url, inner(url)); };
    }
    if (auto const wrong = settings.validate()) co_return complain(*wrong);
    auto const exported = metrics_export::to(s, o.metrics, o.admin.port.has_value());
    if (!exported) co_return complain(exported.error());
    auto* const numbers = exported->get();
    auto client_settings = client_options_from(s, settings, urls.size(), !o.settings.empty());
    if (numbers) client_settings.observer = numbers->of_client();
    auto& client = s.consumers.emplace(ex, std::move(client_settings));
    if (urls.size() > *at_first.max_in_flight)
        co_return complain(
            fmt::format("--max-in-flight must be at least {}, one for each queue", urls.size()), usage);
    std::function<telemetry::snapshot()> page;
    if (numbers) page = [numbers] { return numbers->all().snapshot(); };
    auto const door = admin_port::open(o.admin, job->program, ex, std::move(page));
    if (!door) co_return complain(door.error());
    auto* const admin = door->get();
    auto const watch = [&](std::string const& url) {
        auto its = settings.observer;
        if (numbers) its = numbers->of_queue(url);
        if (traces) its = traces->of_queue(url, std::move(its));
        return admin ? admin->observe(url, std::move(its)) : its;
    };
    sqs::api& api = traces ? traces->around(client) : client;
    consume_work all(s.io, api, urls, job->handle, job->handle_many, watch, settings);
    std::shared_ptr<settings_on_signal> turned;
    if (!o.settings.empty()) {
        auto const said = co_await all.set_limits(at_first);
        if (!said) co_return complain(said.error());
        turned = std::make_shared<settings_on_signal>(s.io, o.settings, base, all);
        turned->wait();
    }
    if (numbers) numbers->begin(all);
    if (traces) traces->begin(numbers ? numbers->count_dropped() : nullptr);
    if (admin) {
        for (auto const& q : all.queues())
            admin->watch(q.url, q.of);
        admin->begin();
    }
    co_await consume_until_drained(s, o, *job, all, heard);
    if (admin) co_await admin->end();
    auto const sent_by = real_clock().now() + rest_of(o, heard->report);
    // A collector that hangs leaves time for the numbers, among which are the spans that it did not take.
    auto const traced_by = numbers ? sent_by - (sent_by - real_clock().now()) / 2 : sent_by;
    if (traces) co_await traces->finish(left_until(traced_by));
    if (numbers) co_await numbers->finish(left_until(sent_by));
    if (turned) turned->end();
    if (once) log_line(log_level::info, once->statistics());
    if (job->statistics) log_line(log_level::info, job->statistics());
    auto const code = judge(o, *heard, all, report ? &*report : nullptr);
    bool const refused = heard->end->has_error() && !heard->complaint;
    if (!refused) co_return code;
    co_return co_await complain_of_end(s, o, all);
}

} // namespace quern::app
