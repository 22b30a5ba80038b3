#include <quern/producer/options.hpp>

namespace quern {

using namespace std::chrono_literals;

std::optional<failure> producer_options::validate(bool fifo) const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (max_buffered == 0) return wrong("max_buffered must be at least 1");
    if (max_buffered_bytes == 0) return wrong("max_buffered_bytes must be at least 1");
    if (linger < 0ms || linger > give_up_after) return wrong("linger must be from 0 to give_up_after");
    if (max_calls == 0) return wrong("max_calls must be at least 1");
    if (give_up_after <= 0ms) return wrong("give_up_after must be positive");
    if (give_up_after > 24h) return wrong("give_up_after must not exceed 24 h");
    if (fifo && give_up_after > 4min) {
        return wrong("give_up_after must not exceed 4 min on a FIFO queue: SQS forgets deduplication ids after 5");
    }
    if (max_attempts < 0) return wrong("max_attempts must not be negative");
    return backoff.validate();
}

} // namespace quern
