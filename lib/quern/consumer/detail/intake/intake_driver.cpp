// The pipeline's intake: a long poll brings messages.

#include <quern/consumer/detail/pipeline.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace quern {

namespace asio = boost::asio;
using std::chrono::seconds;

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

} // namespace

asio::awaitable<void> consumer::pipeline::poll(int ask)
{
    auto started = now();
    auto wait = wait_time();
    auto got = co_await receive(ask, started, wait);
    auto const time = now();
    ++counters.polls;
    if (got) {
        auto const count = got->messages.size() + got->damaged.size();
        if (count == 0) ++counters.empty_polls;
        intake_.answered(ask, static_cast<int>(count), started, time);
        // SQS answers when the wait is over at the latest: what lay here unread for longer has used up its lease.
        accept(std::move(*got), std::min(time, started + wait));
    } else {
        ++counters.failed_polls;
        intake_.failed(ask, time);
        log_.write(log_level::warning, "receive failed", describe(got.error()), time);
    }
    wake_.ring();
}

/// One receive; of a FIFO queue, repeated under one attempt id when its answer is lost: SQS then answers once more with
/// the same messages, which nobody else can have until their visibility timeout (ReceiveRequestAttemptId). `started` and
/// `wait` become those of the request that was answered.
asio::awaitable<result<sqs::receive_message_response>> consumer::pipeline::receive(
    int ask, tick& started, seconds& wait)
{
    sqs::receive_message_request request(queue_url_);
    request.max_messages = ask;
    request.visibility_timeout = options.visibility_timeout;
    request.wait_time = wait;
    request.system_attribute_names = options.system_attributes;
    request.system_attribute_names.insert(
        request.system_attribute_names.end(), {"ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp"});
    request.attribute_names = options.attributes;
    if (fifo_) {
        request.attempt_id = random_id(random_);
        request.system_attribute_names.insert(
            request.system_attribute_names.end(), {"MessageGroupId", "SequenceNumber"});
    }
    bool lost = false; // an answer: a repeat that is refused changes nothing about what it held
    for (int attempt = 1;; ++attempt) {
        auto copy = fifo_ ? request : std::move(request); // only that of a FIFO queue goes out again
        started = now();
        auto got = co_await api_.receive_message(std::move(copy));
        lost = lost || (!got && may_have_received(got.error()));
        if (got || !fifo_ || attempt == attempts || !lost) co_return got;
        ++counters.repeated_polls;
        auto const pause = time_.make_timer(strand);
        co_await pause->wait_until(now() + between_attempts);
        if (ended_) co_return got; // nobody may use the api any more
        if (intake_.stopped()) request.wait_time = wait = seconds(0);
    }
}

/// Short enough for a drain to let the receives under way end.
seconds consumer::pipeline::wait_time() const
{
    return std::min(options.wait_time, std::chrono::floor<seconds>(drain_budget_ * 2 / 3));
}

void consumer::pipeline::accept(sqs::receive_message_response got, tick received_at)
{
    auto const count = got.messages.size() + got.damaged.size();
    counters.received += count;
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
    if (count != 0) bytes_.seen(largest);
    auto whole = got.messages.begin();
    auto damaged = got.damaged.begin();
    auto const time = now();
    bool blind = false; // a message of a FIFO queue is missing, and nobody knows of which group
    for (std::size_t at = 0; at < count; ++at) { // in the order of the answer
        auto const is_damaged =
            damaged != got.damaged.end() && (damaged->position == at || whole == got.messages.end());
        blind = blind || (fifo_ && is_damaged && damaged->known.group_id().empty());
        auto h = is_damaged ? take_in(std::move(*damaged++), from) : take_in(std::move(*whole++), from);
        if (!h) continue;
        if (h->message.lease_deadline() <= time)
            lose(h);
        else if (intake_.stopped() || (blind && !is_damaged))
            settle(std::move(h), settlement::purpose::postpone);
        else if (blind)
            fail(std::move(h), retry());
        else
            arrive(std::move(h));
    }
}

/// Null when the message is held here already, and all that counts is its newest handle.
held_ptr consumer::pipeline::take_in(sqs::message message, std::shared_ptr<answer> const& from)
{
    if (auto const known = in_flight.find(message.id)) {
        if (!known->giving_back) {
            ++counters.adopted;
            if (in_flight.adopt(*known, message, from->received_at)) {
                leases_.hold(*known, from->received_at);
                delete_again(known);
            }
            return nullptr;
        }
        if (message.receive_count() < known->receive_count) return nullptr; // overtaken: its handle is dead
        in_flight.remove(*known); // was being given back, and has come back before the answer
    }
    auto h = make_held(std::move(message), from->storage, time_, from->received_at);
    h->message.kept_by(*this, *h);
    if (!fifo_ && options.system_attributes.empty()) h->message.forget_system_attributes();
    h->came_in = from;
    in_flight.add(h);
    leases_.hold(*h, from->received_at);
    return h;
}

/// Null as well when so little of it can be read that it must come back by itself.
held_ptr consumer::pipeline::take_in(sqs::damaged_message damaged, std::shared_ptr<answer> const& from)
{
    ++counters.damaged;
    log_.write(
        log_level::error, "damaged message", std::string(damaged.known.id) + ": " + describe(damaged.why), now());
    if (damaged.known.id.empty() || damaged.known.receipt_handle.empty()) return nullptr;
    auto h = take_in(std::move(damaged.known), from);
    if (h) h->damage = std::make_unique<failure>(std::move(damaged.why));
    return h;
}

void consumer::pipeline::arrive(held_ptr h)
{
    if (fifo_)
        groups_.add(std::move(h)); // its turn comes
    else
        arrived_.push_back(std::move(h));
}

} // namespace quern
