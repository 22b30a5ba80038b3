#include "commands.hpp"
#include "consume_handlers.hpp"
#include "depth.hpp"
#include "session.hpp"
#include "standard_streams.hpp"

#include <quern/consumer/client_options.hpp>
#include <quern/core/alarm.hpp>
#include <quern/sqs/limits.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <thread>
#include <unistd.h>

namespace quern::app {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct consume_options {
    std::string queue;
    std::string exec;
    bool until_empty = false;
    std::optional<std::size_t> max_in_flight;
    std::uint64_t max_bytes = consumer_options().max_bytes_in_flight;
    std::string rate;
    std::int64_t burst = policy::rate().burst;
    int stall_after = 60;
    int visibility_timeout = 30;
    std::optional<int> wait_time;
    int drain_deadline = 30;
    double handler_timeout = 0;
    int max_age = 0;
    std::string poison_queue;
    std::string on_group_failure = "retry";
    std::optional<int> park_for;
    std::string report;
};

std::map<std::string, group_policy> const group_policies{{"retry", group_policy::retry_head},
    {"skip", group_policy::skip_head}, {"park", group_policy::park_group}, {"halt", group_policy::halt}};

/// "50", "0.5", "30/min"; nothing when it is none of these.
std::optional<policy::rate> rate_from(std::string_view text)
{
    static std::map<std::string_view, std::chrono::seconds> const units{
        {"s", 1s}, {"min", 1min}, {"h", std::chrono::hours(1)}};
    auto const slash = text.find('/');
    auto const unit = units.find(slash == text.npos ? "s" : text.substr(slash + 1));
    auto const number = text.substr(0, slash);
    double value = 0;
    auto const [end, ec] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (ec != std::errc() || end != number.data() + number.size() || unit == units.end()) return {};
    if (!(value >= 0.1 && value <= 1e6)) return {};
    policy::rate out; // in tens, so that parts of a message count as well
    out.count = std::llround(value * 10);
    out.per = unit->second * 10;
    return out;
}

std::string check_rate(std::string const& text)
{
    if (rate_from(text)) return {};
    return text + " is no rate: 50 for fifty a second, or 30/min, or 100/h; from 0.1 to 1000000 of these";
}

std::string check_max_bytes(std::string const& bytes)
{
    auto const size = std::stoull(bytes);
    return size == 0 || size >= sqs::max_message_bytes ? "" : "at least 1MiB, the largest message, or 0 for no limit";
}

consumer_options options_from(consume_options const& o)
{
    consumer_options out;
    out.max_in_flight =
        o.max_in_flight.value_or(o.exec.empty() ? 1'000 : 2 * std::max(1u, std::thread::hardware_concurrency()));
    out.max_bytes_in_flight = o.max_bytes;
    if (!o.rate.empty()) {
        out.rate = rate_from(o.rate);
        out.rate->burst = o.burst;
    }
    out.stall_after = std::chrono::seconds(o.stall_after);
    out.wait_time = std::chrono::seconds(o.wait_time.value_or(o.until_empty ? 2 : 20));
    out.visibility_timeout = std::chrono::seconds(o.visibility_timeout);
    out.drain_deadline = std::chrono::seconds(o.drain_deadline);
    out.handler_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(o.handler_timeout * 1000));
    out.max_age = std::chrono::seconds(o.max_age);
    out.on_group_failure = group_policies.at(o.on_group_failure);
    if (o.park_for) out.park_for = std::chrono::seconds(*o.park_for);
    out.system_attributes = {"SentTimestamp", "MessageGroupId"};
    out.log = to_stderr();
    return out;
}

/// Keys are found once for both.
sqs::client_options client_options_from(session const& s, consumer_options const& o)
{
    auto options = s.options;
    options.credentials = s.sqs.credentials();
    return client_options_for(o, std::move(options));
}

/// Whole or not at all: whoever watches the file never sees half of it.
bool write_report(std::string const& path, drain_report const& report)
{
    auto const draft = fmt::format("{}.{}.tmp", path, ::getpid());
    std::error_code ec;
    {
        std::ofstream file(draft, std::ios::trunc);
        file << to_json(report) << '\n';
        file.close();
        if (!file) ec = std::make_error_code(std::errc::io_error);
    }
    if (!ec) std::filesystem::rename(draft, path, ec);
    if (ec) {
        std::error_code ignored;
        std::filesystem::remove(draft, ignored);
        complain(fmt::format("--report {}: cannot be written: {}", path, ec.message()));
    }
    return !ec;
}

/// What happens while the consumer runs.
struct news {
    explicit news(asio::any_io_executor ex) : arrived(real_clock(), std::move(ex)) {}

    alarm arrived;
    std::optional<failure> broken_output;
    std::optional<drain_report> report;
};

/// Whoever sends SIGUSR1 is told on standard error what the consumer does, and why no more.
class on_request : public std::enable_shared_from_this<on_request> {
public:
    on_request(asio::io_context& io, consumer& of) : io_(io), of_(of), asked_(io, SIGUSR1) {}

    void wait()
    {
        asked_.async_wait([self = shared_from_this()](boost::system::error_code ec, int) {
            if (ec || self->over_) return;
            asio::co_spawn(self->io_, self->of_.explain(), [](std::exception_ptr bug, explanation const& said) {
                if (bug) std::rethrow_exception(bug);
                say(stderr, "quern: {}\n", to_string(said));
            });
            self->wait();
        });
    }

    /// The consumer will be gone; a signal may be on its way.
    void end()
    {
        over_ = true;
        asked_.cancel();
    }

private:
    asio::io_context& io_;
    consumer& of_;
    asio::signal_set asked_;
    bool over_ = false;
};

/// Completes when the consumer has drained, because of a signal, of an output that broke, or of a queue that ran empty.
asio::awaitable<void> consume_until_drained(
    session& s, consume_options const& o, std::string const& url, consumer& c, std::shared_ptr<news> heard)
{
    auto const limit = std::chrono::seconds(o.drain_deadline);
    auto const drained = [heard](std::exception_ptr bug, drain_report const& report) {
        if (bug) std::rethrow_exception(bug);
        heard->report = report;
        heard->arrived.ring();
    };
    asio::co_spawn(s.io, c.drained(), drained);
    c.drain_on({SIGINT, SIGTERM}, limit);
    asio::signal_set told(s.io, SIGINT, SIGTERM);
    told.async_wait([](boost::system::error_code ec, int) {
        if (!ec) spdlog::info("draining; a second signal cancels the handlers that run");
    });
    auto const explained = std::make_shared<on_request>(s.io, c);
    explained->wait();
    c.start();
    spdlog::info("consuming {}", url);

    empty_watch watch(*s.consumers, url);
    bool draining = false;
    while (!heard->report) {
        std::optional<tick> look_at;
        if (o.until_empty && !draining) look_at = real_clock().now() + 100ms;
        co_await heard->arrived.wait(look_at);

        bool over = heard->broken_output.has_value();
        if (look_at && !over && !heard->report) {
            auto const empty = co_await watch.is_empty(c);
            if (empty)
                over = *empty;
            else
                spdlog::warn("cannot tell whether the queue is empty: {}", explain(empty.error(), s.sqs.endpoint()));
        }
        if (over && !std::exchange(draining, true)) asio::co_spawn(s.io, c.drain(limit), drained);
    }
    explained->end();
}

int judge(consume_options const& o, news const& heard)
{
    auto const& report = *heard.report;
    spdlog::info("drained: {}", to_json(report));
    bool const reported = o.report.empty() || write_report(o.report, report);
    if (heard.broken_output) {
        return complain(
            describe(*heard.broken_output) + "; what was not written was not acknowledged and comes again");
    }
    if (!reported) return failed;
    if (report.clean()) return ok;
    return complain("the drain left messages behind that come again later: " + to_json(report), not_drained);
}

asio::awaitable<int> consume(session& s, consume_options const& o)
{
    if (o.on_group_failure == "skip" && o.poison_queue.empty()) {
        co_return complain("--on-group-failure skip needs --poison-queue, where the skipped message goes", usage);
    }
    if (o.park_for && o.on_group_failure != "park")
        co_return complain("--park-for needs --on-group-failure park", usage);
    auto const url = co_await queue_url(s.sqs, o.queue);
    if (!url) co_return s.complain(url.error());
    auto const there = co_await queue_depth(s.sqs, *url);
    bool const may_ask = there || !there.error().service_code.starts_with("AccessDenied");
    if (!there && (may_ask || o.until_empty)) co_return s.complain(there.error());

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
    auto settings = options_from(o);
    if (!o.poison_queue.empty()) {
        auto const poison = co_await queue_url(s.sqs, o.poison_queue);
        if (!poison) co_return s.complain(poison.error());
        if (*poison == *url)
            co_return complain("--poison-queue is the queue itself: what is rejected would come again", usage);
        settings.poison_queue_url = *poison;
    }
    if (auto const wrong = settings.validate()) co_return complain(*wrong);
    auto& client = s.consumers.emplace(ex, client_options_from(s, settings));
    consumer c(ex, client, *url, std::move(handle), settings);
    co_await consume_until_drained(s, o, *url, c, heard);
    auto const done = c.counters();
    spdlog::info(
        "received {}, acknowledged {}, with {} requests", done.received, done.acked, done.polls + done.settle_calls);
    co_return judge(o, *heard);
}

constexpr char const* help =
    R"(Without --exec each message becomes one JSON line on standard output and is acknowledged once the line is out:
  {"message_id": …, "body": …, "receive_count": 1, "sent_at": …, "first_received_at": …, "group": …,
   "attributes": {"kind": {"type": "String", "value": "order"}}}
Should standard output break, what was not written is given back, and the program ends with status 1.

With --exec the command runs through /bin/sh -c once a message, with the body on its standard input and these variables:
  QUERN_MESSAGE_ID, QUERN_RECEIVE_COUNT, QUERN_QUEUE_URL, QUERN_ATTRIBUTES (JSON as above), QUERN_SENT_AT,
  QUERN_FIRST_RECEIVED_AT, QUERN_GROUP
Status 0 acknowledges the message, anything else puts it off for a time that grows with its receive count. A message
whose attributes do not fit into such a variable (128 KiB) cannot be handled: it is put off as well. The command's standard
output is that of this program. When the lease is lost or a drain runs out of time it gets SIGTERM, and SIGKILL after a
twentieth of --drain-deadline.

With --until-empty it ends when a receive comes back empty, nothing is held here, and the queue counts no message, be it
visible, in flight elsewhere or delayed. (On Amazon's SQS these counts may lag by a minute.)

SIGTERM and SIGINT drain: no more receives, handlers end, what was not started becomes visible again, everything is
settled. At nine tenths of --drain-deadline, or at a second signal, handlers are cancelled. Exit status: 0 when nothing
was left behind, 3 when something was, see --report; 1 when the output or the report failed.

SIGUSR1 makes it say on standard error what it does and why no more: which limit is reached, what fails, which message is the
oldest. It says so by itself when nothing was received and nothing settled for --stall-after seconds.

--rate 50 begins to handle fifty messages a second at most, however many come; --rate 30/min or 100/h as well. After a quiet
time --burst of them may begin at once. What has not begun when it drains is given back.

On a FIFO queue the messages of a group run one after the other, in order. When one fails, those behind it wait: until it
comes again (retry), until it is in the --poison-queue (skip), until it comes again after --park-for (park), or for you, since
the program drains and ends (halt).

Delivery is at least once: a message may come more than once.

Examples:
  quern consume orders --until-empty > orders.jsonl
  quern consume http://127.0.0.1:9324/000000000000/orders --exec 'curl -sf -d @- http://localhost:8080/orders'
  quern consume orders --exec ./handle-order --max-in-flight 16 --report /run/orders/drain.json)";

} // namespace

void add_consume(CLI::App& app, command_line& line)
{
    auto const o = std::make_shared<consume_options>();
    auto* const command = app.add_subcommand("consume", "Print each message, or run a command for each");
    command->add_option("QUEUE", o->queue, "URL or name")->required();
    command->add_option("--exec", o->exec, "Run this for each message")->type_name("COMMAND");
    command->add_flag("--until-empty", o->until_empty, "End when the queue has no message left, see below");
    command
        ->add_option(
            "--max-in-flight", o->max_in_flight, "Messages held at once [1000; with --exec twice the processors]")
        ->type_name("N")
        ->check(CLI::Range(1, 120'000));
    command
        ->add_option("--max-bytes", o->max_bytes,
            "Bytes of messages held at once, so that large ones do not fill the memory; 64MiB, 1GiB; 0: no limit "
            "[256MiB]")
        ->type_name("SIZE")
        ->transform(CLI::AsSizeValue(false).description(""))
        ->check(check_max_bytes);
    auto* const rate = command->add_option("--rate", o->rate, "Messages that begin to be handled a second [no limit]")
                           ->type_name("N[/min|/h]")
                           ->check(check_rate);
    command->add_option("--burst", o->burst, "With --rate: as many at once after a quiet time")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str()
        ->needs(rate);
    command
        ->add_option("--visibility-timeout", o->visibility_timeout,
            "How long a message stays hidden unless extended, which happens while its handler runs")
        ->type_name("SECONDS")
        ->check(CLI::Range(3, 43'200))
        ->capture_default_str();
    command
        ->add_option(
            "--handler-timeout", o->handler_timeout, "Cancel a handler that runs longer, and try again [never]")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, 43'200.0));
    command
        ->add_option("--max-age", o->max_age,
            "Reject what still fails so long after its first receive; deletes it without --poison-queue [never]")
        ->type_name("SECONDS")
        ->check(CLI::Range(1, 1'209'600));
    command
        ->add_option("--poison-queue", o->poison_queue, "Where rejected messages go, URL or name [they are deleted]")
        ->type_name("QUEUE");
    command
        ->add_option("--on-group-failure", o->on_group_failure, "FIFO queues: what a group does, see below [retry]")
        ->type_name("POLICY")
        ->check(CLI::IsMember(group_policies));
    command->add_option("--park-for", o->park_for, "With --on-group-failure park: how long [3600]")
        ->type_name("SECONDS")
        ->check(CLI::Range(1, 43'200));
    command
        ->add_option("--wait-time", o->wait_time, "How long a receive waits for a message [20; with --until-empty 2]")
        ->type_name("SECONDS")
        ->check(CLI::Range(0, 20));
    command->add_option("--drain-deadline", o->drain_deadline, "How long a drain may take")
        ->type_name("SECONDS")
        ->check(CLI::Range(1, 43'200))
        ->capture_default_str();
    command->add_option("--stall-after", o->stall_after, "Tell why when nothing has moved for so long; 0: never")
        ->type_name("SECONDS")
        ->check(CLI::Range(0, 86'400))
        ->capture_default_str();
    command->add_option("--report", o->report, "Write how the drain went there, as JSON")->type_name("FILE");
    command->footer(help);
    command->callback([o, &line] {
        line.run = [o, &line] { return run(line.where, o->queue, [o](session& s) { return consume(s, *o); }); };
    });
}

} // namespace quern::app
