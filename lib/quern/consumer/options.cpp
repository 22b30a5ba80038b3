#include <quern/consumer/options.hpp>

#include <algorithm>
#include <iterator>
#include <quern/consumer/client_options.hpp>
#include <quern/consumer/limits.hpp>
#include <quern/sqs/limits.hpp>
#include <string_view>

namespace quern {

using namespace std::chrono_literals;

namespace {

bool is_system_attribute(std::string_view name)
{
    constexpr std::string_view all[] = {"All", "SenderId", "SentTimestamp", "ApproximateReceiveCount",
        "ApproximateFirstReceiveTimestamp", "SequenceNumber", "MessageDeduplicationId", "MessageGroupId",
        "AWSTraceHeader", "DeadLetterQueueSourceArn"}; // SQS API reference, ReceiveMessage
    return std::find(std::begin(all), std::end(all), name) != std::end(all);
}

} // namespace

std::optional<failure> consumer_options::validate() const
{
    using duration = std::optional<std::chrono::milliseconds>;
    auto const wrong = [](std::string what) { return failure(errc::invalid_option, std::move(what)); };
    auto const is_outside = [](duration const& it, auto least, auto most) {
        return it && (*it < least || *it > most);
    };

    if (auto const why = limits.validate()) return why;
    if (concurrency) {
        if (auto const why = concurrency->validate()) return why;
    }
    if (wait_time < 0s || wait_time > 20s) return wrong("wait_time must be from 0 to 20 s");
    if (receive_latency < 0s || receive_latency > 1s) return wrong("receive_latency must be from 0 to 1 s");
    if (visibility_timeout < 3s || visibility_timeout > 12h) {
        return wrong("visibility_timeout must be from 3 s, so that it can be extended in time, to 12 h");
    }
    if (is_outside(handler_timeout, 1ms, 12h)) {
        return wrong("handler_timeout must be above 0, 12 h at most, or absent for no limit");
    }
    if (batch.size == 0) return wrong("batch.size must be at least 1");
    if (is_outside(batch.window, 1ms, 12h)) {
        return wrong("batch.window must be above 0, 12 h at most, or absent for what is there");
    }
    if (batch.bytes == 0u) return wrong("batch.bytes must be at least 1, or absent for any number");
    if (is_outside(max_age, 1s, 14 * 24h)) {
        return wrong("max_age must be from 1 s to 14 days, for which SQS keeps a message, or absent for any age");
    }
    if (max_tries && *max_tries < 1) return wrong("max_tries must be at least 1, or absent for any number");
    if (fifo.park_for < 1s || fifo.park_for > 12h) return wrong("fifo.park_for must be from 1 s to 12 h");
    if (fifo.on_failure == group_policy::skip_head && !poison_queue) {
        return wrong("fifo.on_failure = skip_head needs poison_queue: the skipped head must go somewhere");
    }
    if (is_outside(settle.linger, 1ms, std::chrono::milliseconds(visibility_timeout) / 12)) {
        return wrong("settle.linger must be above 0 and a twelfth of visibility_timeout at most, so that leases are "
                     "extended in time, or absent for none");
    }
    for (auto const& name : system_attributes)
        if (!is_system_attribute(name))
            return wrong("system_attributes has \"" + name + "\", which SQS does not know; SentTimestamp is one");
    if (settle.max_calls < 2 || settle.max_calls > 1'000) {
        return wrong("settle.max_calls must be from 2, one of them for leases, to 1000");
    }
    if (drain_deadline < 1s || drain_deadline > 12h) return wrong("drain_deadline must be from 1 s to 12 h");
    if (is_outside(stall_after, 1s, 24h)) return wrong("stall_after must be from 1 s to 24 h, or absent for never");
    if (is_outside(give_up.after, 0s, 24h)) return wrong("give_up.after must be from 0 to 24 h, or absent for never");
    if (is_outside(give_up.at_start_after, 0s, 24h)) {
        return wrong("give_up.at_start_after must be from 0 to 24 h, or absent for give_up.after");
    }
    if (outage.breaker) {
        if (auto const why = outage.breaker->validate()) return why;
    }
    if (outage.flag) {
        if (!outage.flag->source) return wrong("outage.flag.source must be set: what is to be read");
        if (auto const why = outage.flag->validate()) return why;
    }
    if (outage.max_dependencies < 1 || outage.max_dependencies > 100'000) {
        return wrong("outage.max_dependencies must be from 1 to 100000");
    }
    if (fairness.tenant_concurrency == 0u) {
        return wrong("fairness.tenant_concurrency must be at least 1, or absent for any number");
    }
    if ((fairness.look_ahead || fairness.weight || fairness.tenant_concurrency) && !tenant) {
        return wrong("fairness needs tenant, which says whom a message belongs to");
    }
    if (fairness.look_ahead) {
        if (!limits.handler_concurrency && !concurrency) {
            return wrong("fairness.look_ahead needs limits.handler_concurrency, or every message would run at once");
        }
        auto const at_once = limits.handler_concurrency ? *limits.handler_concurrency : concurrency->max;
        if (*fairness.look_ahead == 0 || *fairness.look_ahead + at_once > limits.max_in_flight) {
            return wrong("fairness.look_ahead must be at least 1, and fit into limits.max_in_flight beside as many "
                         "messages as run");
        }
    }
    return backoff.validate();
}

sqs::client_options client_options_for(consumer_options const& options, sqs::client_options base)
{
    using std::chrono::milliseconds;
    auto& pool = base.connections;
    base.retries.max_attempts = 1;
    base.request_timeout = std::min(base.request_timeout, milliseconds(options.visibility_timeout) / 6);
    pool.data_connections = std::max(pool.data_connections, options.limits.max_polls);
    pool.control_connections = std::max(pool.control_connections, options.settle.max_calls);
    return base;
}

sqs::client_options client_options_for(consumer_options const& options)
{
    return client_options_for(options, options.client);
}

std::optional<failure> consumer_limits::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (max_in_flight == 0) return wrong("max_in_flight must be at least 1; consumer::pause() stops the receives");
    if (max_in_flight > 120'000) return wrong("max_in_flight must not exceed 120000, the limit of SQS per queue");
    if (max_bytes_in_flight && *max_bytes_in_flight < sqs::max_message_bytes) {
        return wrong("max_bytes_in_flight must be at least 1 MiB, the largest message, or absent for no limit");
    }
    if (max_polls == 0 || max_polls > 1'000) return wrong("max_polls must be from 1 to 1000");
    if (handler_concurrency && (*handler_concurrency == 0 || *handler_concurrency > 120'000)) {
        return wrong("handler_concurrency must be from 1 to 120000, or absent for as many as max_in_flight");
    }
    if (rate) {
        if (auto const why = rate->validate()) return why;
        if (rate->per > longest_wait) return wrong("rate.per must not exceed 24 h");
    }
    return {};
}

} // namespace quern
