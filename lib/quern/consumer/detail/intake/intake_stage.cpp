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

intake_stage::intake_stage(stage_context& c, gate_stage& to, run_stage& run)
    : context_(c), to_(to), run_(run),
      rule_(c.options.limits.max_in_flight, c.options.limits.max_polls, seeded(c.options.seed),
          c.options.wait_time.count() != 0, c.options.receive_latency),
      patience_(c.options.give_up.after, c.options.give_up.at_start_after), drain_budget_(c.options.drain_deadline)
{}

std::optional<tick> intake_stage::turn(tick now)
{
    for (;;) { // a poll may be answered before spawn() returns
        context_.coming = rule_.coming();
        tell_limits();
        auto const room = std::min(context_.bytes_room(), to_.room(now));
        auto const ask = rule_.next_poll(to_.places_taken(), now, room);
        if (ask == 0) return rule_.wake_at();
        ++context_.open_receives;
        context_.spawn(poll(ask, now));
    }
}

void intake_stage::tell_limits()
{
    if (!context_.watcher) return;
    observed_limits const now{rule_.target(), context_.limits.max_in_flight};
    if (now != std::exchange(told_, now)) context_.observe(&observer::limits_changed, now);
}

void intake_stage::expect_drain(std::chrono::milliseconds limit)
{
    drain_budget_ = std::clamp<std::chrono::milliseconds>(limit, seconds(0), drain_budget_);
}

/// Short enough for a drain to let the receives under way end.
seconds intake_stage::wait_time() const
{
    return std::min(context_.options.wait_time, std::chrono::floor<seconds>(drain_budget_ * 2 / 3));
}

asio::awaitable<void> intake_stage::poll(int ask, tick began)
{
    asked how{ask, context_.now(), wait_time(), lease()};
    auto got = co_await receive(how);
    auto const time = context_.now();
    --context_.open_receives;
    ++context_.counters.polls;
    if (got) {
        patience_.answered();
        auto const count = got->messages.size() + got->damaged.size();
        if (count == 0) ++context_.counters.empty_polls;
        if (count != 0) context_.note_receive(time - how.at);
        auto const usable = accept(std::move(*got), how, time);
        if (usable == 0 && count != 0)
            rule_.failed(ask, time); // nothing of it can be settled: asking at once would bring the same again
        else
            rule_.answered(ask, static_cast<int>(count), began, time);
        if (usable != 0) context_.receive_takes = rule_.quickest();
    } else {
        failed(ask, got.error(), time);
    }
    context_.coming = rule_.coming();
    context_.wake.ring();
}

void intake_stage::failed(int asked, failure const& why, tick time)
{
    ++context_.counters.failed_polls;
    rule_.failed(asked, time);
    context_.log.write(log_level::warning, "receive failed", context_.queue_url + ": " + describe(why), time);
    context_.observe(&observer::receive_failed, why, rule_.failures());
    auto const enough = patience_.failed(why, time);
    if (!enough || context_.ending) return;
    context_.gave_up = why;
    auto const* const because =
        why.code == errc::stopped ? ": the client is closed" : ": receives were refused for too long";
    context_.log.write(
        log_level::error, "gave up", context_.queue_url + because + ", the consumer drains: " + describe(why), time);
    context_.halt();
}

/// The lease to ask for: with a look-ahead it covers the wait that a message has before it.
seconds intake_stage::lease() const
{
    auto const usual = context_.options.visibility_timeout;
    if (!context_.options.fairness.look_ahead) return usual;
    auto const wait = std::chrono::ceil<seconds>(context_.turns.expected_wait());
    return std::max(usual, std::min(usual + wait, lease_book::longest_wait));
}

sqs::receive_message_request intake_stage::request_for(asked const& how)
{
    auto const& options = context_.options;
    sqs::receive_message_request request(context_.queue_url);
    request.max_messages = how.most;
    request.visibility_timeout = how.lease;
    request.wait_time = how.wait;
    auto& wanted = request.system_attribute_names;
    wanted = options.system_attributes;
    wanted.reserve(wanted.size() + 5);
    wanted.emplace_back("ApproximateReceiveCount");
    wanted.emplace_back("ApproximateFirstReceiveTimestamp");
    if (context_.tells_queued) wanted.emplace_back("SentTimestamp");
    request.attribute_names = options.attributes;
    if (may_go_along()) wanted.emplace_back("AWSTraceHeader");
    if (!context_.fifo) return request;
    request.attempt_id = random_id(context_.random);
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
    auto const fifo = context_.fifo;
    bool lost = false; // an answer: a repeat that is refused changes nothing about what it held
    for (int attempt = 1;; ++attempt) {
        auto copy = fifo ? request : std::move(request); // only that of a FIFO queue goes out again
        how.at = context_.now();
        auto got = co_await context_.api.receive_message(std::move(copy));
        lost = lost || (!got && may_have_received(got.error()));
        if (got || !fifo || attempt == attempts || !lost) co_return got;
        ++context_.counters.repeated_polls;
        auto const pause = context_.time.make_timer(context_.strand);
        co_await pause->wait_until(context_.now() + between_attempts);
        if (context_.ended) co_return got; // nobody may use the api any more
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
    if (from->bytes != 0) context_.bytes.seen(largest);
    return from;
}

/// Hands each message on, in the order of the answer. Returns how many of them can be settled at all.
std::size_t intake_stage::accept(response got, asked const& how, tick now)
{
    // SQS answers when the wait is over at the latest: what lay here unread for longer has used up its lease.
    auto const received_at = std::min(now, how.at + how.wait);
    auto const count = got.messages.size() + got.damaged.size();
    context_.counters.received += count;
    auto const service_time =
        context_.tells_queued ? context_.time.wall() + context_.api.clock_offset() : wall_time();
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
        blind = blind || (context_.fifo && is_damaged && known.group_id().empty());
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
    if (auto const known = context_.in_flight.find(id)) {
        auto const overtaken = message.receive_count() < known->receive_count; // its handle is dead
        if (!known->life.is_given_back()) {
            ++context_.counters.adopted;
            if (overtaken) return nullptr;
            ledger::adopt(*known, message, from->received_at);
            context_.leases.hold(*known, from->received_at, with.lease);
            context_.carry_out(known, known->life.on(life::event::received_again), with.at);
            return nullptr;
        }
        if (overtaken) return nullptr;
        context_.carry_out(
            known, known->life.on(life::event::received_again), with.at); // it has come back before the answer
    }
    auto h = make_held(std::move(message), from->storage, context_.time, from->received_at);
    run_.attend(*h);
    if (context_.tells_queued) h->queued_ms = milliseconds_since(h->message.message().sent_at(), with.service_time);
    auto const asked_for = context_.fifo || !context_.options.system_attributes.empty();
    if (!asked_for && (!may_go_along() || h->message.message().system("AWSTraceHeader").empty()))
        h->message.forget_system_attributes();
    h->came_in = from;
    context_.in_flight.add(h, id);
    context_.leases.hold(*h, from->received_at, with.lease);
    context_.observe(*h, with.at, &observer::received);
    return h;
}

/// Null as well when so little of it can be read that it must come back by itself.
held_ptr intake_stage::take_in(sqs::damaged_message&& damaged, arrival const& with)
{
    ++context_.counters.damaged;
    context_.log.write(
        log_level::error, "damaged message", std::string(damaged.known.id) + ": " + describe(damaged.why), with.at);
    if (damaged.known.id.empty() || damaged.known.receipt_handle.empty()) return nullptr;
    auto h = take_in(std::move(damaged.known), with);
    if (h) h->in_trouble().damage = std::move(damaged.why);
    return h;
}

} // namespace quern::detail
