#include "common/admin_port.hpp"
#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/depth.hpp"
#include "common/progress.hpp"
#include "common/rejects_nothing.hpp"
#include "common/session.hpp"
#include "common/standard_streams.hpp"
#include "demo/demo_broker.hpp"
#include "demo/demo_tally.hpp"

#include <quern/core/alarm.hpp>
#include <quern/producer/producer.hpp>
#include <quern/sqs/limits.hpp>

#include <boost/asio/co_spawn.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <random>

namespace quern::app {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct demo_options {
    std::size_t messages = 100'000;
    std::size_t size = 256;
    std::size_t max_in_flight = 1'000;
    bool json = false;
    admin_options admin;
};

constexpr std::size_t most_unanswered = 80; ///< sends: eight full requests
constexpr auto patience = 60s;              ///< without a single acknowledgement: what is missing then is lost

/// The body of a message: its number, and dots up to the size.
std::string body_of(std::size_t number, std::size_t size)
{
    auto text = std::to_string(number) + ' ';
    text.resize(std::max(size, text.size()), '.');
    return text;
}

std::optional<std::size_t> number_in(std::string_view body)
{
    std::size_t out = 0;
    auto const [end, ec] = std::from_chars(body.data(), body.data() + body.size(), out);
    if (ec != std::errc()) return {};
    return out;
}

/// Both ends of one queue: sends, consumes, and keeps the books. Outlived by none of its coroutines: each holds it.
class mill final : public observer, public std::enable_shared_from_this<mill> {
public:
    mill(session& s, demo_options const& o, std::string url)
        : executor_(s.io.get_executor()), options_(o), queue_url_(std::move(url)), sqs_(s.sqs), count_(o.messages),
          to_(executor_, sqs_, queue_url_), room_(real_clock(), executor_), pulse_(real_clock(), executor_)
    {}

    /// Completes when all that was sent has been acknowledged, or will not be any more.
    asio::awaitable<void> grind(admin::host* admin)
    {
        auto const self = shared_from_this();
        asio::co_spawn(executor_, send(), [self](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
            self->all_sent_ = true;
        });
        consumer_options settings;
        settings.limits.max_in_flight = options_.max_in_flight;
        settings.wait_time = 1s; // an empty queue is noticed within it
        settings.log = without_word_of_rejects(to_stderr());
        settings.observer = admin ? admin->observe(queue_url_, self) : self;
        consumer c(
            executor_, sqs_, queue_url_, [self](delivery& d) { return self->handle(d); }, settings);
        if (admin) {
            admin->watch(queue_url_, c);
            admin->begin().value(); // it listens already
        }
        c.start();

        empty_watch watch(sqs_, queue_url_);
        auto const began_at = real_clock().now();
        progress bar("acked", options_.messages, began_at);
        for (bool over = false; !over;) {
            co_await pulse_.wait(real_clock().now() + 20ms);
            auto const now = real_clock().now();
            bar.show(count_.acked(), now);
            over = (all_sent_ && count_.outstanding() == 0) ||
                now - std::max(began_at, count_.last_acked_at()) > patience;
            if (over || !all_sent_) continue;
            auto const empty = co_await watch.is_empty(c);
            over = empty && *empty;
        }
        bar.finish();
        drained_ = co_await c.drain(10s);
        if (admin) co_await admin->end();
    }

    tally const& count() const { return count_; }
    std::size_t retried() const { return retried_; }
    std::optional<failure> const& refused() const { return refused_; }
    drain_report const& drained() const { return drained_; }

    void settled(observed_message const& m, message_end how, std::chrono::seconds) override
    {
        if (how != message_end::deleted) return;
        count_.deleted(m.id, real_clock().now());
        room_.ring();
    }

private:
    asio::awaitable<void> send()
    {
        auto const self = shared_from_this();
        for (std::size_t number = 0; number < options_.messages; ++number) {
            // Not further ahead than this, or what is measured is how long a message waits, here or in the queue.
            while (count_.outstanding() >= 2 * options_.max_in_flight || unanswered_ == most_unanswered)
                co_await room_.wait();
            count_.given(number, real_clock().now());
            ++unanswered_;
            asio::co_spawn(executor_, send(number), [self](std::exception_ptr bug) {
                if (bug) std::rethrow_exception(bug);
            });
        }
        while (unanswered_ != 0)
            co_await room_.wait();
    }

    asio::awaitable<void> send(std::size_t number)
    {
        sqs::send_message_entry entry(body_of(number, options_.size));
        auto const answer = co_await to_.send(std::move(entry));
        count_.sent(number, answer.has_value());
        if (!answer && !refused_) refused_ = answer.error();
        --unanswered_;
        room_.ring();
    }

    asio::awaitable<outcome> handle(delivery& d)
    {
        auto const number = number_in(d.body());
        if (number && *number % 128 == 100 && d.receive_count() == 1) {
            ++retried_;
            co_return retry_after(1s);
        }
        if (number) count_.handle(*number, d.id());
        co_return ack();
    }

    asio::any_io_executor executor_;
    demo_options const options_;
    std::string const queue_url_;
    sqs::api& sqs_;
    tally count_;
    producer to_;
    alarm room_, pulse_;
    bool all_sent_ = false;
    std::size_t retried_ = 0, unanswered_ = 0;
    std::optional<failure> refused_;
    drain_report drained_;
};

struct figures {
    std::size_t sent = 0, acked = 0, retried = 0, lost = 0, duplicates = 0;
    double per_second = 0, requests_per_message = 0, p50 = 0, p99 = 0;
};

double requests_of_a_consumer(broker::server_counters const& counters)
{
    std::uint64_t sum = 0;
    for (auto const* const name : {"ReceiveMessage", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"}) {
        auto const at = counters.requests.find(name);
        if (at != counters.requests.end()) sum += at->second;
    }
    return static_cast<double>(sum);
}

figures figures_of(mill const& m, sqs::queue_depth const& left, broker::server_counters const& counters)
{
    auto const& count = m.count();
    figures f;
    f.sent = count.sent();
    f.acked = count.acked();
    f.retried = m.retried();
    f.lost = std::max(count.missing(), left.total());
    f.duplicates = count.duplicates();
    auto const seconds = std::chrono::duration<double>(count.last_acked_at() - count.first_given_at()).count();
    if (seconds > 0) f.per_second = static_cast<double>(f.acked) / seconds;
    if (f.acked != 0) f.requests_per_message = requests_of_a_consumer(counters) / static_cast<double>(f.acked);
    f.p50 = count.latency(0.50);
    f.p99 = count.latency(0.99);
    return f;
}

void print(figures const& f, bool as_json)
{
    if (as_json) {
        // By hand: Boost.JSON writes 22632.0 as 2.2632E4.
        say(stdout,
            R"({{"sent":{},"acked":{},"retried":{},"lost":{},"duplicates":{},"messages_per_second":{:.0f},)"
            R"("requests_per_message":{:.4f},"p50_ms":{:.2f},"p99_ms":{:.2f}}})"
            "\n",
            f.sent, f.acked, f.retried, f.lost, f.duplicates, f.per_second, f.requests_per_message, f.p50, f.p99);
        return;
    }
    say(stdout, "sent: {}\nacked: {}\nretried: {}\nlost: {}\nduplicates: {}\n", f.sent, f.acked, f.retried, f.lost,
        f.duplicates);
    say(stdout, "messages/s: {:.0f}\nrequests per message: {:.3f}\np50 ms: {:.1f}\np99 ms: {:.1f}\n", f.per_second,
        f.requests_per_message, f.p50, f.p99);
}

asio::awaitable<int> demo(session& s, demo_broker& broker, demo_options const& o)
{
    sqs::create_queue_request creation("demo");
    auto const made = co_await s.sqs.create_queue(std::move(creation));
    if (!made) co_return s.complain(made.error());
    auto const admin = open_admin_port(o.admin, "quern demo", s.io.get_executor());
    if (!admin) co_return complain(admin.error());
    auto const work = std::make_shared<mill>(s, o, made->queue_url);
    co_await work->grind(admin->get());
    auto const counters = broker.counters();
    auto const left = co_await queue_depth(s.sqs, made->queue_url);
    if (!left) co_return s.complain(left.error());

    auto const f = figures_of(*work, *left, counters);
    print(f, o.json);
    if (work->refused()) co_return s.complain(*work->refused());
    if (f.lost != 0) co_return complain(fmt::format("{} messages were lost", f.lost));
    if (!work->drained().clean()) co_return complain("the drain left something behind: " + to_json(work->drained()));
    co_return ok;
}

int run_demo(demo_options const& o)
{
    aws::credentials const key{
        "demo", fmt::format("{:08x}{:08x}", std::random_device()(), std::random_device()()), ""};
    demo_broker broker(key);
    sqs::client_options options;
    options.where.url = broker.url();
    options.where.region = "us-east-1";
    options.credentials = aws::static_credentials(key);
    session s(std::move(options));
    return run(s, [&](session& open) { return demo(open, broker, o); });
}

constexpr char const* help =
    R"(Starts a broker in this process and talks to it as to any other: over HTTP on the loopback, every request signed and
every signature checked. Sends the messages and consumes them at the same time. One in 128 is failed on purpose when it
comes first, and comes again a second later. Prints one "name: value" a line:

  sent, acked           messages that the broker confirmed as sent, and as deleted
  retried               failed on purpose
  lost                  sent and never acknowledged, or left in the queue; then the exit status is 1
  duplicates            handled once more after they had been handled
  messages/s            acknowledged, from the first send to the last acknowledgement
  requests per message  receives, deletes and changes of visibility, as the broker counted them
  p50 ms, p99 ms        from handing a message to the sender to the confirmation of its delete

With --json the same as an object: messages_per_second, requests_per_message, p50_ms, p99_ms.
No more than twice --max-in-flight messages are on their way at once.

Example:
  quern demo --messages 20000 --json)";

} // namespace

void add_demo(command& app, command_line& line)
{
    auto const o = std::make_shared<demo_options>();
    auto* const command =
        app.add_subcommand("demo", "Send and consume against a broker of its own, and tell how it went");
    command->add({
        {"--messages", o->messages, "Send and consume so many messages", range(1, 50'000'000), shows_default()},
        {"--size", o->size, "Size of each message in bytes", range(std::size_t(16), sqs::max_message_bytes),
            shows_default()},
        {"--max-in-flight", o->max_in_flight, "Let the consumer hold at most so many messages at once",
            range(1, 100'000), shows_default()},
        {"--json", o->json, "Print the result as one JSON object"},
    });
    add_admin_options(*command, o->admin);
    command->footer(help);
    when_named(*command, line, [o] { return run_demo(*o); });
}

} // namespace quern::app
