#include <quern/consumer/limits.hpp>
#include <quern/consumer/options.hpp>
#include <quern/sqs/limits.hpp>

namespace quern {

consumer_limits consumer_limits::of(consumer_options const& options)
{
    consumer_limits out;
    out.max_in_flight = options.max_in_flight;
    out.max_bytes_in_flight = options.max_bytes_in_flight;
    out.rate = options.rate.value_or(policy::rate());
    out.max_polls = options.max_polls;
    out.handler_concurrency = options.handler_concurrency;
    return out;
}

consumer_limits consumer_limits::over(consumer_limits const& base) const
{
    auto out = base;
    if (max_in_flight) out.max_in_flight = max_in_flight;
    if (max_bytes_in_flight) out.max_bytes_in_flight = max_bytes_in_flight;
    if (rate) out.rate = rate;
    if (max_polls) out.max_polls = max_polls;
    if (handler_concurrency) out.handler_concurrency = handler_concurrency;
    return out;
}

std::optional<failure> consumer_limits::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (max_in_flight == 0u) return wrong("max_in_flight must be at least 1; consumer::pause() stops the receives");
    if (max_in_flight > 120'000u) return wrong("max_in_flight must not exceed 120000, the limit of SQS per queue");
    if (max_bytes_in_flight && *max_bytes_in_flight != 0 && *max_bytes_in_flight < sqs::max_message_bytes) {
        return wrong("max_bytes_in_flight must be at least 1 MiB, the largest message, or 0 for no limit");
    }
    if (max_polls == 0u || max_polls > 1'000u) return wrong("max_polls must be from 1 to 1000");
    if (handler_concurrency > 120'000u) {
        return wrong("handler_concurrency must not exceed 120000, or be 0 for as many as max_in_flight");
    }
    if (rate && rate->count != 0) {
        if (auto const why = rate->validate()) return why;
        if (rate->per > longest_wait) return wrong("rate.per must not exceed 24 h");
    }
    return {};
}

} // namespace quern
