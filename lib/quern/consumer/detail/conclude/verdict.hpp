#pragma once

#include <quern/consumer/options.hpp>
#include <quern/consumer/outcome.hpp>
#include <quern/core/clock.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace quern::detail {

// What becomes of a message when its handler has ended: first what the end means, then what follows from it. Pure.

/// Meaning of a handler's end.
struct meaning {
    outcome said;
    bool is_news = true; ///< about what the handler depends on; not of a message that blames itself
    log_level level = log_level::debug;
    char const* cause = nullptr; ///< of the line in the log, null for none
    std::string text;
    bool malformed = false;

    /// A handler that never began, or was cancelled, or whose lease is over.
    static meaning nothing()
    {
        meaning out;
        out.is_news = false;
        return out;
    }
};

/// Meaning of an exception, with consumer_options::classify asked first; `overdue`: thrown because it ran for too
/// long.
meaning meaning_of(std::exception_ptr const& thrown, bool overdue, consumer_options const&);

/// Meaning of a message that cannot be read. `body`: its beginning is shown where options.log_bodies says so.
meaning meaning_of_malformed(std::string const& why, std::string_view body, consumer_options const&);

/// Circumstances of a message at its handler's end.
struct circumstances {
    int receive_count = 1;
    std::chrono::milliseconds age{}; ///< since its first receive, without the time in which it merely stood back
    wall_time now;
    bool fifo = false;
    bool was_just_back = false; ///< this process gave it back, or put it off, a moment ago
};

/// Time for which the messages behind a failed head wait for it here, their leases extended. A head that is put off
/// for longer is not waited for.
inline constexpr std::chrono::seconds longest_wait_for_head{20};

/// Shortest time between two receives of a message that nobody lets wait. Given back at once again and again, ten of
/// them cost ten thousand requests a minute.
inline constexpr std::chrono::seconds shortest_turn{1};

struct verdict {
    enum class kind {
        remove,
        reject,
        postpone,
    };
    kind what = kind::postpone;
    std::chrono::milliseconds delay{}; ///< of postpone
    bool waits_for_head = false;       ///< of postpone: those behind it in its group may wait here meanwhile
    bool halts = false;                ///< the consumer drains
    std::string reason;                ///< of reject
};

verdict verdict_of(outcome const&, circumstances const&, consumer_options const&, std::mt19937_64&);

} // namespace quern::detail
