// The pipeline's intake: a long poll brings messages.

#include <quern/consumer/pipeline.hpp>

#include <algorithm>
#include <utility>

namespace quern {

namespace asio = boost::asio;
using std::chrono::seconds;

asio::awaitable<void> consumer::pipeline::poll(int ask)
{
    sqs::receive_message_request request(queue_url_);
    request.max_messages = ask;
    request.visibility_timeout = options.visibility_timeout;
    auto const wait = std::min(options.wait_time, std::chrono::floor<seconds>(drain_budget_ * 2 / 3));
    request.wait_time = wait;
    request.system_attribute_names = options.system_attributes;
    request.system_attribute_names.insert(
        request.system_attribute_names.end(), {"ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp"});
    request.attribute_names = options.attributes;

    auto const started = now();
    auto got = co_await api_.receive_message(std::move(request));
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

void consumer::pipeline::accept(sqs::receive_message_response got, tick received_at)
{
    counters.received += got.messages.size() + got.damaged.size();
    for (auto& message : got.messages) {
        auto h = take_in(std::move(message), got.storage, received_at);
        if (!h) continue;
        if (h->message.lease_deadline() <= now())
            lose(h);
        else if (intake_.stopped())
            settle(std::move(h), settlement::purpose::postpone);
        else
            dispatch(std::move(h));
    }
    for (auto& damaged : got.damaged)
        refuse(std::move(damaged), got.storage, received_at);
}

/// Null when the message is held here already, and all that counts is its newest handle.
held_ptr consumer::pipeline::take_in(sqs::message message, std::shared_ptr<std::byte[]> storage, tick time)
{
    if (auto const known = in_flight.find(message.id)) {
        if (!known->giving_back) {
            ++counters.adopted;
            if (in_flight.adopt(*known, message, std::move(storage), time)) leases_.hold(*known, time);
            return nullptr;
        }
        in_flight.remove(*known); // was being given back, and has come back before the answer
    }
    auto h = std::make_shared<held>(std::move(message), std::move(storage), time_, time);
    in_flight.add(h);
    leases_.hold(*h, time);
    return h;
}

/// Not run, since nobody can say what it is; tried again as a failed one, because the next copy may be whole.
void consumer::pipeline::refuse(sqs::damaged_message damaged, std::shared_ptr<std::byte[]> storage, tick time)
{
    ++counters.damaged;
    log_.write(
        log_level::error, "damaged message", std::string(damaged.known.id) + ": " + describe(damaged.why), time);
    if (damaged.known.id.empty() || damaged.known.receipt_handle.empty()) return; // comes back by itself
    auto const delay = options.backoff.delay(damaged.known.receive_count(), random_);
    if (auto h = take_in(std::move(damaged.known), std::move(storage), time)) {
        settle(std::move(h), settlement::purpose::postpone, delay);
    }
}

} // namespace quern
