#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace quern {

/// A producer at one moment: what it holds, and what keeps it from sending faster.
struct producer_explanation {
    /// Cause that bounds it: nothing; max_calls; max_buffered; max_buffered_bytes; the service, which refuses, fails,
    /// or gets no more done with more requests at once; order, of messages that wait for another of their group.
    enum class bound { nothing, calls, messages, bytes, service, groups };

    struct problem {
        std::string text;
        std::chrono::milliseconds ago{};
    };

    bound by = bound::nothing;

    std::size_t held = 0;      ///< messages in the buffer, those under way included
    std::size_t bytes = 0;     ///< of these
    std::size_t under_way = 0; ///< of these, in a request
    std::size_t put_off = 0;   ///< of these, waiting to be tried again
    std::size_t behind = 0;    ///< of these, waiting for another of their group
    std::size_t outside = 0;   ///< sends that wait for room in the buffer

    std::size_t calls = 0;     ///< requests under way
    std::size_t calls_now = 0; ///< at most so many now; between 16 and max_calls
    std::size_t max_calls = 0; ///< see producer_options::max_calls

    std::chrono::nanoseconds call_takes{}; ///< of the latest requests, the mean; zero: none has ended
    double messages_each = 0;              ///< of these, in a request

    std::optional<problem> last_problem; ///< the last request that failed, whether or not it was logged
};

/// "calls", as metrics and the text have it.
char const* to_string(producer_explanation::bound);

/// One line: "16 requests under way, 10000 messages held, 300 sends wait for room; calls are the bound: 16
/// (max_calls) of 10 messages and 10.0 ms each make 16000 messages a second"
std::string to_string(producer_explanation const&);

} // namespace quern
