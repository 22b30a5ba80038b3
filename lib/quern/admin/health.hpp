#pragma once

#include <quern/consumer/counters.hpp>
#include <quern/consumer/explanation.hpp>
#include <quern/core/clock.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace quern::admin {

/// The loop of one consumer, as it was when it last answered.
struct pulse {
    std::string name; ///< of the queue

    bool seen = false; ///< it has answered once
    bool started = false;
    bool ready = false; ///< explanation::ready
    bool excused =
        false; ///< something that is known keeps it from receiving: a pause, a breaker, a limit, an outage, a drain
    std::string why;        ///< what that is
    std::uint64_t done = 0; ///< receives that ended, and messages settled
    tick moved_at{};        ///< when `done` last grew, or was excused from growing
};

/// The pulse after the consumer has said this.
pulse next_pulse(pulse before, explanation const&, consumer_counters const&, tick now);

/// All that health is judged by.
struct vital_signs {
    tick began_at{};
    tick beat_at{};    ///< when all loops last answered; began_at before they ever did
    bool seen = false; ///< they have answered once
    bool over = false; ///< the work has ended, as it was meant to
    std::vector<pulse> loops;
};

struct health_limits {
    /// A loop that does not answer for so long is stuck: something blocks its thread. Many times a turn of the loop,
    /// which takes milliseconds, and short enough that three probes in half a minute all see it.
    std::chrono::milliseconds beat_within{5'000};

    /// A receive ends within its wait and its timeout, tries included; one that does not for so long never will.
    std::chrono::milliseconds receive_within{180'000};
};

/// The answer to a probe.
struct health {
    int status = 200; ///< 200 or 503
    std::string reason;
    bool operator==(health const&) const = default;
};

/// Whether a restart would be the cure: only when a loop of ours stands still, and nothing explains why. An outage of
/// SQS or of a dependency, a pause, a drain, a full house and any lag are no reasons: a restart ends none of these.
health liveness(vital_signs const&, health_limits const&, tick now);

/// Whether it receives, and is to go on: of each queue the last receive did not fail. No pause makes it unready.
health readiness(vital_signs const&, health_limits const&, tick now);

/// Whether it has begun. Once it has, it stays so.
health startup(vital_signs const&);

/// A line for each queue: "orders: ready", "bills: not ready: receives fail, 3 in a row: the next in 0.4 s".
std::string details(vital_signs const&, tick now);

} // namespace quern::admin
