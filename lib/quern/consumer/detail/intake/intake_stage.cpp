#include <quern/consumer/detail/gate/gate_stage.hpp>
#include <quern/consumer/detail/intake/intake_stage.hpp>
#include <quern/core/detail/random_part.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <utility>

namespace quern::detail {

namespace asio = boost::asio;
using std::chrono::seconds;
using life = message_life;

namespace {

/// A receive whose answer was lost may have hidden messages all the same.
bool may_have_received(failure const& why)
{
    return why.code == errc::timed_out || why.code == errc::connection_lost || why.code == errc::bad_reply;
}

constexpr int attempts = 3; // at one receive of a FIFO queue
constexpr std::chrono::milliseconds between_attempts{200};

std::string random_id(std::mt19937_64& random)
{
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(random()),
        static_cast<unsigned long long>(random()));
    return text;
}

/// As held::queued_ms has it. SQS keeps a message for two weeks, which are half of what fits.
std::int32_t milliseconds_since(std::optional<wall_time> sent, wall_time now)
{
    if (!sent) return -1;
    auto const since = std::chrono::duration_cast<std::chrono::milliseconds>(now - *sent).count();
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(since, 0, std::numeric_limits<std::int32_t>::max()));
}

} // namespace

intake_stage::intake_stage(line& l, gate_stage& to, run_stage& run)
    : line_(l), to_(to), run_(run), rule_(l.options.limits.max_in_flight, l.options.limits.max_polls,
                                        seeded(l.options.seed), l.options.wait_time.count() != 0),
      patience_(l.options.give_up.after, l.options.give_up.at_start_after), drain_budget_(l.options.drain_deadline)
{}

std::optional<tick> intake_stage::turn(tick now)
{
    for (;;) { // a poll may be answered before spawn() returns
        line_.coming = rule_.coming();
        tell_limits();
        auto const ask = rule_.next_poll(line_.in_flight.size(), now, std::min(line_.bytes_room(), to_.room(now)));
        if (ask == 0) return rule_.wake_at();
        ++line_.open_receives;
        line_.spawn(poll(ask));
    }
}

void intake_stage::tell_limits()
{
    if (!line_.watcher) return;
    observed_limits const now{rule_.target(), line_.limits.max_in_flight};
    if (now != std::exchange(told_, now)) line_.observe(&observer::limits_changed, now);
}

void intake_stage::expect_drain(std::chrono::milliseconds limit)
{
    drain_budget_ = std::clamp<std::chrono::milliseconds>(limit, seconds(0), drain_budget_);
}

/// Short enough for a drain to let the receives under way end.
seconds intake_stage::wait_time() const
{
    return std::min(line_.options.wait_time, std::chrono::floor<seconds>(drain_budget_ * 2 / 3));
}

asio::awaitable<void> intake_stage::poll(int ask)
{
    asked how{ask, line_.now(), wait_time(), lease()};
    auto got = co_await receive(how);
    auto const time = line_.now();
    --line_.open_receives;
    ++line_.counters.polls;
    if (got) {
        patience_.answered();
        auto const count = got->messages.size() + got->damaged.size();
        if (count == 0) ++line_.counters.empty_polls;
        auto const usable = accept(std::move(*got), how, time);
        if (usable == 0 && count != 0)
            rule_.failed(ask, time); // nothing of it can be settled: asking at once would bring the same again
        else
            rule_.answered(ask, static_cast<int>(count), how.at, time);
    } else {
        failed(ask, got.error(), time);
    }
    line_.coming = rule_.coming();
    line_.wake.ring();
}

void intake_stage::failed(int asked, failure const& why, tick time)
{
    ++line_.counters.failed_polls;
    rule_.failed(asked, time);
    line_.log.write(log_level::warning, "receive failed", line_.queue_url + ": " + describe(why), time);
    line_.observe(&observer::receive_failed, why, rule_.failures());
    auto const enough = patience_.failed(why, time);
    if (!enough || line_.ending) return;
    line_.gave_up = why;
    auto const* const because =
        why.code == errc::stopped ? ": the client is closed" : ": receives were refused for too long";
    line_.log.write(
        log_level::error, "gave up", line_.queue_url + because + ", the consumer drains: " + describe(why), time);
    line_.halt();
}

/// The lease to ask for: with a look-ahead it covers the wait that a message has before it.
seconds intake_stage::lease() const
{
    auto const usual = line_.options.visibility_timeout;
    if (!line_.options.fairness.look_ahead) return usual;
    auto const wait = std::chrono::ceil<seconds>(line_.turns.expected_wait());
    return std::max(usual, std::min(usual + wait, lease_book::longest_wait));
}

sqs::receive_message_request intake_stage::request_for(asked const& how)
{
    auto const& options = line_.options;
    sqs::receive_message_request request(line_.queue_url);
    request.max_messages = how.most;
    request.visibility_timeout = how.lease;
    request.wait_time = how.wait;
    auto& wanted = request.system_attribute_names;
    wanted = options.system_attributes;
    wanted.reserve(wanted.size() + 5);
    wanted.emplace_back("ApproximateReceiveCount");
    wanted.emplace_back("ApproximateFirstReceiveTimestamp");
    if (line_.tells_queued) wanted.emplace_back("SentTimestamp");
    request.attribute_names = options.attributes;
    if (may_go_along()) wanted.emplace_back("AWSTraceHeader");
    if (!line_.fifo) return request;
    request.attempt_id = random_id(line_.random);
    wanted.emplace_back("MessageGroupId");
    wanted.emplace_back("SequenceNumber");
    return request;
}

/// One receive; of a FIFO queue, repeated under one attempt id when its answer is lost: SQS then answers once more
/// with the same messages, which nobody else can have until their visibility timeout (ReceiveRequestAttemptId).
/// `how` becomes what the request that was answered had.
asio::awaitable<result<sqs::receive_message_response>> intake_stage::receive(asked& how)
{
    auto request = request_for(how);
    auto const fifo = line_.fifo;
    bool lost = false; // an answer: a repeat that is refused changes nothing about what it held
    for (int attempt = 1;; ++attempt) {
        auto copy = fifo ? request : std::move(request); // only that of a FIFO queue goes out again
        how.at = line_.now();
        auto got = co_await line_.api.receive_message(std::move(copy));
        lost = lost || (!got && may_have_received(got.error()));
        if (got || !fifo || attempt == attempts || !lost) co_return got;
        ++line_.counters.repeated_polls;
        auto const pause = line_.time.make_timer(line_.strand);
        co_await pause->wait_until(line_.now() + between_attempts);
        if (line_.ended) co_return got; // nobody may use the api any more
        if (rule_.stopped()) request.wait_time = how.wait = seconds(0);
    }
}

std::shared_ptr<answer> intake_stage::weighed(response& got, tick received_at)
{
    auto const from = std::make_shared<answer>(answer{std::move(got.storage), received_at});
    std::size_t largest = 0;
    auto const weigh = [&](sqs::message const& m) {
        auto const bytes = bytes_of(m);
        from->bytes += bytes;
        largest = std::max(largest, bytes);
    };
    for (auto const& m : got.messages)
        weigh(m);
    for (auto const& d : got.damaged)
        weigh(d.known);
    if (from->bytes != 0) line_.bytes.seen(largest);
    return from;
}

/// Hands each message on, in the order of the answer. Returns how many of them can be settled at all.
std::size_t intake_stage::accept(response got, asked const& how, tick now)
{
    // SQS answers when the wait is over at the latest: what lay here unread for longer has used up its lease.
    auto const received_at = std::min(now, how.at + how.wait);
    auto const count = got.messages.size() + got.damaged.size();
    line_.counters.received += count;
    auto const service_time = line_.tells_queued ? line_.time.wall() + line_.api.clock_offset() : wall_time();
    arrival const with{weighed(got, received_at), now, how.lease, service_time};
    auto whole = got.messages.begin();
    auto damaged = got.damaged.begin();
    bool blind = false; // a message of a FIFO queue is missing, and nobody knows of which group
    std::size_t usable = 0;
    for (std::size_t at = 0; at < count; ++at) {
        auto const is_damaged =
            damaged != got.damaged.end() && (damaged->position == at || whole == got.messages.end());
        auto const& known = is_damaged ? damaged->known : *whole;
        usable += !known.id.empty() && !known.receipt_handle.empty();
        blind = blind || (line_.fifo && is_damaged && known.group_id().empty());
        auto h = is_damaged ? take_in(std::move(*damaged++), with) : take_in(std::move(*whole++), with);
        if (h) to_.take(std::move(h), blind, now);
    }
    return usable;
}

/// Null when the message is held here already, and all that counts is its newest handle.
held_ptr intake_stage::take_in(sqs::message&& message, arrival const& with)
{
    auto const& from = with.from;
    message_id const id(message.id);
    if (auto const known = line_.in_flight.find(id)) {
        auto const overtaken = message.receive_count() < known->receive_count; // its handle is dead
        if (!known->life.is_given_back()) {
            ++line_.counters.adopted;
            if (overtaken) return nullptr;
            ledger::adopt(*known, message, from->received_at);
            line_.leases.hold(*known, from->received_at, with.lease);
            line_.carry_out(known, known->life.on(life::event::received_again), with.at);
            return nullptr;
        }
        if (overtaken) return nullptr;
        line_.carry_out(
            known, known->life.on(life::event::received_again), with.at); // it has come back before the answer
    }
    auto h = make_held(std::move(message), from->storage, line_.time, from->received_at);
    run_.attend(*h);
    if (line_.tells_queued) h->queued_ms = milliseconds_since(h->message.message().sent_at(), with.service_time);
    auto const asked_for = line_.fifo || !line_.options.system_attributes.empty();
    if (!asked_for && (!may_go_along() || h->message.message().system("AWSTraceHeader").empty()))
        h->message.forget_system_attributes();
    h->came_in = from;
    line_.in_flight.add(h, id);
    line_.leases.hold(*h, from->received_at, with.lease);
    line_.observe(*h, with.at, &observer::received);
    return h;
}

/// Null as well when so little of it can be read that it must come back by itself.
held_ptr intake_stage::take_in(sqs::damaged_message&& damaged, arrival const& with)
{
    ++line_.counters.damaged;
    line_.log.write(
        log_level::error, "damaged message", std::string(damaged.known.id) + ": " + describe(damaged.why), with.at);
    if (damaged.known.id.empty() || damaged.known.receipt_handle.empty()) return nullptr;
    auto h = take_in(std::move(damaged.known), with);
    if (h) h->in_trouble().damage = std::move(damaged.why);
    return h;
}

} // namespace quern::detail
