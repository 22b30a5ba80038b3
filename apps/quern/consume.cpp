#include "command_check.hpp"
#include "commands.hpp"
#include "consume_handlers.hpp"
#include "consume_options.hpp"
#include "depth.hpp"
#include "explain_on_signal.hpp"
#include "report_file.hpp"
#include "session.hpp"

#include <quern/consumer/client_options.hpp>
#include <quern/core/alarm.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <memory>
#include <unistd.h>

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

/// What happens while the consumer runs.
struct news {
    explicit news(asio::any_io_executor ex) : arrived(real_clock(), std::move(ex)) {}

    alarm arrived;
    std::optional<failure> broken_output;
    std::optional<result<drain_report>> end;
    drain_report report;
};

/// Completes when the consumer has drained: because of a signal, of an output that broke, of a queue that ran empty,
/// or because it was refused from the beginning.
asio::awaitable<void> consume_until_drained(
    session& s, consume_options const& o, std::string const& url, consumer& c, std::shared_ptr<news> heard)
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

    empty_watch watch(*s.consumers, url);
    bool draining = false;
    while (!heard->end) {
        std::optional<tick> look_at;
        if (o.until_empty && !draining) look_at = real_clock().now() + 100ms;
        co_await heard->arrived.wait(look_at);

        bool enough = heard->broken_output.has_value();
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

int judge(
    session const& s, consume_options const& o, news const& heard, consumer_counters const& done, report_file* to)
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
    if (heard.broken_output) {
        code =
            complain(describe(*heard.broken_output) + "; what was not written was not acknowledged and comes again");
    }
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

asio::awaitable<int> consume(session& s, consume_options const& o)
{
    if (auto const why = conflict(o); !why.empty()) co_return complain(why, usage);
    if (!o.exec.empty()) {
        auto const missing = co_await missing_command(o.exec);
        if (!missing.empty()) co_return complain("--exec: " + missing, usage);
    }
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
    if (auto const wrong = settings.validate()) co_return complain(*wrong);
    std::optional<report_file> report;
    if (!o.report.empty()) {
        auto opened = report_file::open(o.report);
        if (!opened) co_return complain_of_report(o, opened.error());
        report.emplace(std::move(*opened));
    }

    auto const ex = s.io.get_executor();
    auto const heard = std::make_shared<news>(ex);
    handler handle;
    if (o.exec.empty()) {
        handle = print_messages(std::make_shared<line_writer>(ex, STDOUT_FILENO), [heard](failure const& why) {
            heard->broken_output = why;
            heard->arrived.ring();
        });
    } else {
        // A handler is cancelled at nine tenths of a drain: the command has to be gone before its end.
        handle = run_for_each(o.exec, *url, std::chrono::milliseconds(o.drain_deadline * 1000 / 20));
    }
    auto& client = s.consumers.emplace(ex, client_options_from(s, settings));
    consumer c(ex, client, *url, std::move(handle), settings);
    co_await consume_until_drained(s, o, *url, c, heard);
    co_return judge(s, o, *heard, c.counters(), report ? &*report : nullptr);
}

} // namespace

void add_consume(CLI::App& app, command_line& line)
{
    auto const o = std::make_shared<consume_options>();
    auto* const command = app.add_subcommand("consume", "Print each message, or run a command for each");
    add_options(*command, *o);
    command->callback([o, &line] {
        line.run = [o, &line] { return run(line.where, o->queue, [o](session& s) { return consume(s, *o); }); };
    });
}

} // namespace quern::app
