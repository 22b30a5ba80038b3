#include <quern/consumer/limits.hpp>
#include <quern/sqs/limits.hpp>

namespace quern {

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
