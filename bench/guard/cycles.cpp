// The steps of a message, to have their instructions counted: guard-cycles STEP COUNT
//
//   sign      a signed DeleteMessageBatch of ten, from its body to the bytes on the wire
//   build     the body of a DeleteMessageBatch of ten
//   parse     the answer to a ReceiveMessage, ten messages of 256 bytes, their digests compared
//   cycle     receive, handle, delete: messages of the queue BENCH_QUEUE_URL, by a plain function
//   wait      the same, by a coroutine
//   watched   as cycle, with an observer of everything that a message has but how long it was in the queue
//   timed     as watched, and of that
//   measured  as cycle, with all that is measured
//   traced    as cycle, with spans of every message; their export is not in it
//   leases    the lease of a message that is held, extended and dropped beside 10,000 leases of ten minutes
//   outage    a message that waits here for what it depends on, beside 10,000 others, and runs once that is up
//
// guard.py runs each twice, with different counts: what the second one takes longer is what the difference costs.
#include <quern/aws/detail/signing/json_signer.hpp>
#include <quern/consumer/client_options.hpp>
#include <quern/consumer/consumer.hpp>
#include <quern/consumer/detail/gate/breaker_gate.hpp>
#include <quern/consumer/detail/lease_book.hpp>
#include <quern/core/detail/md5.hpp>
#include <quern/core/detail/text/digest.hpp>
#include <quern/metrics/collection.hpp>
#include <quern/sqs/detail/checksums.hpp>
#include <quern/sqs/detail/decode.hpp>
#include <quern/sqs/detail/encode.hpp>
#include <quern/tracing/traced_api.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::detail;
using namespace quern::sqs::detail;

namespace {

std::string const receipt(400, 'A'); // a receipt handle is about as long

sqs::delete_message_batch_request ten_deletes()
{
    std::vector<sqs::delete_message_entry> entries;
    for (int i = 0; i < 10; ++i)
        entries.emplace_back(std::to_string(i), receipt);
    return {"https://sqs.us-east-1.amazonaws.com/123456789012/orders", std::move(entries)};
}

std::string ten_messages()
{
    std::string const body(256, 'x');
    std::string out = R"({"Messages":[)";
    for (int i = 0; i < 10; ++i) {
        if (i != 0) out += ',';
        out += R"({"MessageId":"11111111-2222-3333-4444-00000000000)" + std::to_string(i) + R"(","ReceiptHandle":")" +
            receipt + R"(","MD5OfBody":")" + text::hex(quern::detail::md5(body)) + R"(","Body":")" + body +
            R"(","Attributes":{"ApproximateReceiveCount":"1","ApproximateFirstReceiveTimestamp":"1763000000000"}})";
    }
    return out + "]}";
}

void sign(long count)
{
    aws::detail::json_target target;
    target.host = "sqs.us-east-1.amazonaws.com";
    target.region = "us-east-1";
    aws::detail::json_signer signer(std::move(target));
    aws::credentials const who{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
    auto const body = encode(ten_deletes());
    wall_time const at{std::chrono::hours(490'000)};
    for (long i = 0; i < count; ++i) {
        if (signer.request("DeleteMessageBatch", body, who, at).size() < body.size())
            throw std::logic_error("too short");
    }
}

void build(long count)
{
    auto const request = ten_deletes();
    for (long i = 0; i < count; ++i) {
        if (encode(request).size() < 10 * receipt.size()) throw std::logic_error("too short");
    }
}

void parse(long count)
{
    decoder in;
    auto const text = ten_messages();
    for (long i = 0; i < count; ++i) {
        auto body = text;
        auto answer = in.read<sqs::receive_message_response>(body).value();
        verify(answer);
        if (answer.messages.size() != 10) throw std::logic_error("not ten");
    }
}

template <class Handle>
void consume(long count, Handle handle, std::shared_ptr<observer> watcher = nullptr)
{
    auto const* const queue = std::getenv("BENCH_QUEUE_URL");
    if (!queue) throw std::runtime_error("BENCH_QUEUE_URL is not set");
    asio::io_context io(1);
    consumer_options options;
    options.seed = 1;
    options.observer = std::move(watcher);
    consumer it(io, queue, handle, options);
    it.start();
    while (it.counters().acked < static_cast<std::uint64_t>(count))
        io.run_one();
    std::_Exit(0); // how it ends is not what is counted
}

/// As consume(), through a traced_api.
void consume_traced(long count)
{
    auto const* const queue = std::getenv("BENCH_QUEUE_URL");
    if (!queue) throw std::runtime_error("BENCH_QUEUE_URL is not set");
    asio::io_context io(1);
    auto const spans = std::make_shared<tracing::tracer>(telemetry::trace_options(), real_clock(), 1);
    consumer_options options;
    options.seed = 1;
    options.client.where.queue_url = queue;
    sqs::client client(io.get_executor(), client_options_for(options, options.client));
    tracing::traced_api traced(client, spans);
    options.observer = traced.of_queue(queue);
    consumer it(
        io.get_executor(), traced, queue, [](delivery&) {}, options);
    it.start();
    while (it.counters().acked < static_cast<std::uint64_t>(count)) {
        io.run_one();
        if (spans->size() >= spans->options().batch) spans->take(spans->size());
    }
    std::_Exit(0); // how it ends is not what is counted
}

/// Somebody who overrides every event of a message, and reads what it tells.
class watcher final : public observer {
public:
    explicit watcher(bool wants_queued) : wants_queued_(wants_queued) {}

    bool wants_queued() const override { return wants_queued_; }
    void received(observed_message const& m) override { sum_ += m.queued ? m.queued->count() : 0; }
    void began(observed_message const& m) override { sum_ += m.waited.count(); }
    void ended(observed_message const& m, handler_end, outcome::kind) override { sum_ += m.handled.count(); }
    void lease_extended(observed_message const&, std::chrono::seconds) override { ++sum_; }
    void lease_lost(observed_message const&) override { ++sum_; }
    void settled(observed_message const& m, message_end, std::chrono::seconds) override
    {
        sum_ += m.settling.count();
    }

private:
    bool const wants_queued_;
    tick::rep sum_ = 0;
};

/// As many messages as one likes, on their last receive.
struct crowd {
    tick now = real_clock().now();

    detail::held_ptr next()
    {
        sqs::message m;
        m.id = ids.emplace_back("m" + std::to_string(ids.size()));
        m.system_attributes = {{"ApproximateReceiveCount", "1"}};
        return detail::make_held(m, nullptr, real_clock(), now);
    }

    std::deque<std::string> ids;
};

constexpr int others = 10'000;

void keep_leases(long count)
{
    crowd messages;
    detail::lease_book book(std::chrono::seconds(30));
    std::vector<detail::held_ptr> long_ones;
    for (int i = 0; i < others; ++i)
        book.extended(*long_ones.emplace_back(messages.next()), messages.now, std::chrono::minutes(10));
    for (long i = 0; i < count; ++i) {
        auto const h = messages.next();
        book.hold(*h, messages.now);
        book.extended(*h, messages.now, std::chrono::seconds(30));
        book.drop(*h);
    }
    for (auto const& h : long_ones)
        book.drop(*h);
}

void outlive_outage(long count)
{
    detail::breaker_gate rule({}, 1, 1, tick());
    rule.set_places(static_cast<std::size_t>(others + count));
    auto now = tick() + std::chrono::hours(1);
    std::uint64_t arrived = 0;
    auto const run = [&](std::uint64_t number, gate::news::sign said) {
        gate::subject const its{number, number, {}, 0, now};
        rule.started(its, now);
        return rule.ended(its, {said, {}}, now).to;
    };
    for (long i = 0; i < others + count; ++i) {
        auto const to = run(++arrived, gate::news::sign::down);
        if (i >= 12 && to != gate::answer::way::wait_here) throw std::logic_error("it does not wait");
        now += std::chrono::milliseconds(100);
    }
    run(++arrived, gate::news::sign::good);
    while (auto const one = rule.due(true, now))
        run(one->number, gate::news::sign::good);
}

asio::awaitable<void> wait_for_nothing(delivery&)
{
    co_return;
}

} // namespace

int main(int argc, char* argv[])
try {
    if (argc != 3)
        throw std::runtime_error(
            "usage: guard-cycles sign|build|parse|cycle|part|wait|watched|timed|measured|traced|leases|outage COUNT");
    std::string const step = argv[1];
    auto const count = std::stol(argv[2]);
    if (step == "sign")
        sign(count);
    else if (step == "build")
        build(count);
    else if (step == "parse")
        parse(count);
    else if (step == "cycle" || step == "part") // the queue is what differs
        consume(count, [](delivery&) {});
    else if (step == "wait")
        consume(count, wait_for_nothing);
    else if (step == "watched" || step == "timed")
        consume(
            count, [](delivery&) {}, std::make_shared<watcher>(step == "timed"));
    else if (step == "measured")
        consume(
            count, [](delivery&) {}, metrics::collection().consumer("bench"));
    else if (step == "traced")
        consume_traced(count);
    else if (step == "leases")
        keep_leases(count);
    else if (step == "outage")
        outlive_outage(count);
    else
        throw std::runtime_error("no such step: " + step);
} catch (std::exception const& e) {
    std::fprintf(stderr, "guard-cycles: %s\n", e.what());
    return 1;
}
