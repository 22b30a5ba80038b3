#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace quern {

/// How a consumer stopped.
struct drain_report {
    std::chrono::milliseconds took{};
    std::size_t finished = 0;  ///< handlers that ended by themselves during the drain
    std::size_t cancelled = 0; ///< handlers that ended because the drain's time ran out; their messages were released
    std::size_t released = 0;  ///< messages made visible again: received and not started, or cancelled
    std::size_t stranded = 0;  ///< hidden though nobody works on them: their release was not confirmed in time
    std::size_t running = 0;   ///< handlers still running; their messages stay hidden until their leases end
    std::size_t at_risk = 0;   ///< handled, but the delete is not confirmed: may be delivered again
    std::size_t lost = 0;  ///< leases lost since it began: they come back, after a visibility timeout at the latest
    std::size_t polls = 0; ///< receives that had not been answered: what they may yet bring stays hidden for a while

    /// Makes this one that of several drains: sums, and the longest time.
    void add(drain_report const&);

    /// Nothing was left behind.
    bool clean() const { return stranded + running + at_risk + lost + polls == 0; }
};

/// {"took_ms":812,"finished":12,…}, one line.
std::string to_json(drain_report const&);

} // namespace quern
