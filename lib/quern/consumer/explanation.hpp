#pragma once

#include <quern/consumer/limits.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace quern {

/// A consumer at one moment: what it does, and why no more.
struct explanation {
    /// Something that keeps the next receive from beginning.
    struct obstacle {
        std::string name; ///< "max_in_flight", "max_bytes_in_flight", "rate", "handler_concurrency", "receives_fail",
            ///< "empty_answers", "paused", "breaker", "handlers_hang", "leases", "flag", "not_started", "draining"
            ///< or "ended"
        std::string text; ///< for a human
    };
    struct message {
        std::string id;
        std::chrono::milliseconds age{}; ///< since it was received here
        std::string state;               ///< "waiting", "running" or "settling"
    };
    struct problem {
        std::string text;
        std::chrono::milliseconds ago{};
    };

    struct flag_state {
        bool halts = false;
        std::optional<std::chrono::milliseconds> age{}; ///< since its last word was read; absent: none was
    };

    struct tenant_state {
        std::string name; ///< empty: of messages that belong to nobody
        std::size_t waiting = 0, running = 0;
        bool capped = false; ///< its messages wait because as many of them run as may: fairness_options
    };

    /// It has been started, is not draining, and its last receive did not fail: the answer for a probe of readiness.
    bool ready = false;

    std::size_t polls = 0;     ///< receives open
    std::size_t in_flight = 0; ///< messages
    std::size_t running = 0;   ///< of these, with a handler at work
    std::size_t settling = 0;  ///< of these, handled, and SQS is being told
    std::size_t bytes = 0;     ///< see consumer_limits::max_bytes_in_flight

    consumer_limits limits; ///< in force, each of them

    /// None: nothing is in the way, it receives as much as the answers are worth.
    std::vector<obstacle> obstacles;

    std::vector<std::string> remarks; ///< what is not in the way of all: an outage of some, groups that SQS holds
                                      ///< back; and limits that were turned
    std::optional<message> oldest;    ///< in flight

    /// The last warning or error, whether or not it was logged; its cause may be over.
    std::optional<problem> last_problem;

    std::optional<flag_state> flag; ///< see outage_options::flag; absent: there is none

    /// The busiest twenty of which something waits for its turn, or runs; none without consumer_options::tenant.
    std::vector<tenant_state> tenants;

    /// Since the last receive that was answered, or the last message that was settled.
    std::chrono::milliseconds quiet{};
};

/// One line: "0 receives open, 1000 messages in flight; max_in_flight is reached: …; the oldest …"
std::string to_string(explanation const&);

/// One line: {"ready":true,"polls":0,"in_flight":1000,…,"obstacles":[{"name":"max_in_flight","text":"…"}],…}
std::string to_json(explanation const&);

} // namespace quern
