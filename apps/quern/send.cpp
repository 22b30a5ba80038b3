#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/complaint.hpp"
#include "common/line_reader.hpp"
#include "common/progress.hpp"
#include "common/session.hpp"
#include "common/standard_streams.hpp"
#include "common/trace_export.hpp"

#include <quern/core/alarm.hpp>
#include <quern/producer/producer.hpp>
#include <quern/sqs/limits.hpp>
#include <quern/sqs/queue_reference.hpp>
#include <quern/tracing/sending.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <unistd.h>
#include <vector>

namespace quern::app {
namespace {

namespace asio = boost::asio;

struct send_options {
    std::string queue;
    std::size_t count = 0; ///< 0: the lines of standard input
    std::size_t size = 0;
    std::string group;
    std::optional<std::chrono::milliseconds> delay;
    trace_choice traces;
};

/// "1 to 80, 91, 101 to 110"
std::string spans(std::vector<std::size_t> numbers)
{
    std::ranges::sort(numbers);
    std::string text;
    for (auto at = numbers.begin(); at != numbers.end();) {
        auto const first = *at++;
        auto last = first;
        while (at != numbers.end() && *at == last + 1)
            last = *at++;
        if (!text.empty()) text += ", ";
        text += first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
    }
    return text;
}

constexpr std::size_t most_calls = 8; // keeps a server busy across a round trip; 80 MiB of the longest messages

/// SQS is asked again by the client, below it: one that fails here has failed.
producer_options single_tries(bool fifo)
{
    producer_options out;
    out.max_calls = most_calls;
    out.max_attempts = 1;
    out.gather_groups = true;
    out.give_up_after = fifo ? std::chrono::minutes(4) : std::chrono::hours(24); // the longest that it takes
    return out;
}

/// Gives the messages what the options say, and counts what becomes of them.
class job {
public:
    job(session& s, send_options const& options, std::string queue_url, std::shared_ptr<trace_export> traces)
        : session_(s), options_(options), queue_url_(queue_url), is_fifo_(queue_url.ends_with(".fifo")),
          traces_(std::move(traces)), caller_(traces_ ? context_of_process() : std::nullopt),
          to_(s.io.get_executor(), s.sqs, std::move(queue_url), single_tries(is_fifo_)),
          progress_("sent", options.count, real_clock().now()), answered_(real_clock(), s.io.get_executor())
    {}

    /// Completes when there is room for another one: this is the back-pressure.
    asio::awaitable<void> add(std::string body)
    {
        sqs::send_message_entry entry(std::move(body));
        if (options_.delay) entry.delay = std::chrono::floor<std::chrono::seconds>(*options_.delay);
        if (!options_.group.empty()) entry.group_id = options_.group;
        auto const size = sqs::message_size(entry.body, entry.attributes);
        if (is_fifo_ && (unanswered_ == sqs::max_batch_entries || bytes_ + size > sqs::max_message_bytes)) {
            co_await all_in_order();
        }
        while (unanswered_ == most_calls * sqs::max_batch_entries)
            co_await answered_.wait();
        if (why_) co_return;
        bytes_ += size;
        ++unanswered_;
        asio::co_spawn(session_.io, send(std::move(entry), ++added_), [](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
        });
    }

    /// A FIFO queue gets nothing more until all that it was sent is answered, so that nothing overtakes what failed.
    asio::awaitable<void> all_in_order()
    {
        while (is_fifo_ && unanswered_ != 0)
            co_await answered_.wait();
        bytes_ = 0;
    }

    /// Nothing more is to be added.
    void interrupt() { interrupted_ = true; }
    bool over() const { return why_ || interrupted_; }

    asio::awaitable<int> finish()
    {
        while (unanswered_ != 0)
            co_await answered_.wait();
        progress_.finish();
        if (traces_) co_await traces_->finish(std::chrono::seconds(5));
        say(stderr, "sent {} of {}\n", sent_, added_);
        if (interrupted_) say(stderr, "interrupted: what comes after message {} was not sent\n", added_);
        if (!why_) co_return sent_ == added_ && !interrupted_ ? ok : failed;
        say(stderr, "not sent: {}, and what comes after message {}\n", spans(unsent_), added_);
        co_return session_.complain(*why_);
    }

private:
    /// `number`: from 1.
    asio::awaitable<void> send(sqs::send_message_entry entry, std::size_t number)
    {
        std::optional<tracing::send_span> span;
        if (traces_) span.emplace(traces_->spans(), queue_url_, entry, caller_);
        auto const answer = co_await to_.send(std::move(entry));
        if (span) span->end(traces_->spans(), answer);
        if (answer) {
            progress_.show(++sent_, real_clock().now());
        } else {
            tell(number, answer.error());
        }
        --unanswered_;
        answered_.ring();
    }

    void tell(std::size_t number, failure const& why)
    {
        progress_.finish();
        if (!why_ && !ends_all(why)) {
            log_line(log_level::error, fmt::format("message {} was not sent: {}", number, describe(why)));
            return;
        }
        unsent_.push_back(number);
        if (!why_) why_ = why;
    }

    /// Nobody answers, or the whole call was refused for good. Or what comes next in a FIFO queue would overtake a
    /// message that can be sent again.
    bool ends_all(failure const& why) const
    {
        return (is_fifo_ && why.retryable) || why.code == errc::connect_failed || why.code == errc::tls_failed ||
            (why.http_status >= 400 && why.http_status < 500 && !why.retryable);
    }

    session& session_;
    send_options const& options_;
    std::string queue_url_;
    bool is_fifo_;
    std::shared_ptr<trace_export> traces_;           ///< null: none
    std::optional<telemetry::trace_context> caller_; ///< on whose behalf it sends
    std::size_t added_ = 0, sent_ = 0, unanswered_ = 0;
    std::size_t bytes_ = 0;           ///< of what all_in_order() waits for
    std::optional<failure> why_;      ///< a call failed for a reason that ends it all
    std::vector<std::size_t> unsent_; ///< because of it; numbers of messages, from 1
    bool interrupted_ = false;
    producer to_;
    progress progress_;
    alarm answered_;
};

/// "17 ......" of that many bytes.
std::string made_up(std::size_t number, std::size_t size)
{
    auto text = std::to_string(number);
    if (text.size() < size) text += ' ';
    text.resize(std::max(size, text.size()), '.');
    return text;
}

asio::awaitable<int> send_lines(session& s, job& messages)
{
    line_reader input(s.io.get_executor(), STDIN_FILENO, sqs::max_message_bytes);
    // Who ends it wants to know what was sent of what it has read. At a second signal it ends at once.
    asio::signal_set signals(s.io, SIGINT, SIGTERM);
    signals.async_wait([&](boost::system::error_code ec, int) {
        if (ec) return;
        signals.clear();
        messages.interrupt();
        input.stop_waiting();
    });
    while (!messages.over()) {
        auto line = input.next();
        if (!line) {
            co_await messages.finish();
            co_return complain(describe(line.error()));
        }
        if (*line) {
            co_await messages.add(std::move(**line));
        } else if (input.at_end()) {
            break;
        } else {
            co_await messages.all_in_order(); // nobody knows when the next line comes
            if (!messages.over()) co_await input.more();
        }
    }
    auto const code = co_await messages.finish();
    co_return code;
}

asio::awaitable<int> send(session& s, send_options const& options)
{
    auto url = co_await sqs::find_queue_url(s.sqs, options.queue);
    if (!url) co_return s.complain(url.error());
    if (url->ends_with(".fifo") && options.group.empty()) {
        co_return complain("--group: a FIFO queue wants one for each message", usage);
    }
    if (url->ends_with(".fifo") && options.delay.value_or(std::chrono::milliseconds(0)).count() != 0) {
        co_return complain("--delay: a FIFO queue knows its own alone, see its attribute DelaySeconds", usage);
    }

    auto traces = trace_export::to(s, options.traces);
    if (!traces) co_return complain(traces.error());
    if (*traces) (*traces)->begin({});
    job messages(s, options, std::move(*url), std::move(*traces));
    if (options.count == 0) {
        auto const code = co_await send_lines(s, messages);
        co_return code;
    }
    for (std::size_t i = 1; i <= options.count && !messages.over(); ++i)
        co_await messages.add(made_up(i, options.size));
    auto const code = co_await messages.finish();
    co_return code;
}

} // namespace

void add_send(command& app, command_line& line)
{
    auto const o = std::make_shared<send_options>();
    auto* const command = app.add_subcommand("send", "Send messages: the lines of standard input, or made-up ones");
    command->add({
        {"QUEUE", o->queue, "Queue to send to, URL, name or ARN", required()},
        {"--count", o->count, "Send so many made-up messages; default: read standard input", positive()},
        {"--size", o->size, "With --count: the size of each message in bytes; default: a few bytes",
            range(std::size_t(1), sqs::max_message_bytes), needs("--count")},
        {"--group", o->group, "Message group: needed by FIFO queues, the tenant on standard ones",
            check([](std::string const& text) {
                return sqs::is_token(text) ? std::string() : std::string("1 to 128 letters, digits and punctuation");
            })},
        {"--delay DURATION", o->delay,
            "Let the messages be received only after so long, on standard queues; default: as the queue says",
            duration_within(std::chrono::milliseconds(0), sqs::max_delay)},
    });
    add_traces_option(*command, o->traces);
    command->footer(
        "Each line is a message of 1 byte to 1 MiB. Ten go into a request, and eight requests are under way\n"
        "at once; for a FIFO queue one, so that the lines keep their order, and the first that cannot be\n"
        "sent now ends it. What is not sent is reported by the number of its line; then the exit status is 1.\n"
        "SIGTERM and SIGINT end the reading: what was taken is sent, and the last line of it is told.\n\n"
        "Examples:\n"
        "  quern send orders < orders.jsonl\n"
        "  quern send orders --count 10000 --size 512");
    when_named(
        *command, line, [o, &line] { return run(line.where, o->queue, [o](session& s) { return send(s, *o); }); });
}

} // namespace quern::app
