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
    request.wait_time = std::min(options.wait_time, std::chrono::floor<seconds>(drain_budget_ * 2 / 3));
    request.system_attribute_names = options.system_attributes;
    request.system_attribute_names.insert(
        request.system_attribute_names.end(), {"ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp"});
    request.attribute_names = options.attributes;

    auto got = co_await api_.receive_message(std::move(request));
    auto const time = now();
    ++counters.polls;
    if (got) {
        auto const count = got->messages.size() + got->damaged.size();
        if (count == 0) ++counters.empty_polls;
        intake_.answered(ask, static_cast<int>(count));
        accept(std::move(*got), time);
    } else {
        ++counters.failed_polls;
        intake_.failed(ask, time);
        log_.write(log_level::warning, "receive failed", describe(got.error()), time);
    }
    wake_.ring();
}

void consumer::pipeline::accept(sqs::receive_message_response got, tick time)
{
    counters.received += got.messages.size() + got.damaged.size();
    for (auto const& message : got.messages) {
        if (auto const known = in_flight.find(message.id)) {
            if (known->at == held::stage::running || known->removing) {
                ++counters.adopted;
                in_flight.adopt(*known, message.receipt_handle, got.storage, time);
                leases_.hold(*known, time);
                continue;
            }
            in_flight.remove(*known); // was being given back, and has come back before the answer
        }
        auto h = std::make_shared<held>(message, got.storage, time_, time);
        in_flight.add(h);
        leases_.hold(*h, time);
        if (intake_.stopped())
            settle(std::move(h), settlement::purpose::postpone);
        else
            dispatch(std::move(h));
    }
    if (!got.damaged.empty()) accept_damaged(got, time);
}

/// Not run, since nobody can say what it is; tried again as a failed one, because the next copy may be whole.
void consumer::pipeline::accept_damaged(sqs::receive_message_response& got, tick time)
{
    for (auto& damaged : got.damaged) {
        ++counters.damaged;
        log_.write(
            log_level::error, "damaged message", std::string(damaged.known.id) + ": " + describe(damaged.why), time);
        if (damaged.known.id.empty() || damaged.known.receipt_handle.empty()) continue; // comes back by itself
        if (in_flight.find(damaged.known.id)) continue;
        auto const delay = options.backoff.delay(damaged.known.receive_count(), random_);
        auto h = std::make_shared<held>(std::move(damaged.known), got.storage, time_, time);
        in_flight.add(h);
        leases_.hold(*h, time);
        settle(std::move(h), settlement::purpose::postpone, delay);
    }
}

} // namespace quern
