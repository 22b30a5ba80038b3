#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/consumer/outcome.hpp>
#include <quern/sim/scenario.hpp>

#include <chrono>
#include <exception>
#include <optional>

namespace quern::sim {

/// The meaning of one run of a handler for its message.
struct verdict {
    enum class kind {
        succeeded,
        failed,    ///< it comes again
        cancelled, ///< with its lease, or by a drain
        rejected,  ///< off to the poison queue, or deleted where there is none
        discarded, ///< deleted
    };
    kind how = kind::cancelled;
    std::chrono::milliseconds delay{}; ///< that passes at least before it may come again
    bool may_be_rejected = false;      ///< though it only failed: because of its age, or its tries
    bool unexplained = false;          ///< rejected, and its handler does not say why
    bool found_down = false;           ///< what it needs: its handler did not get to work

    bool rejectable() const { return how == kind::rejected || may_be_rejected; }
};

/// News of the guard of a lease.
enum class guard_news { asked, agrees, refuses };

/// How a run of a handler ended.
struct ending {
    std::exception_ptr thrown;   ///< or
    std::optional<outcome> said; ///< one of the two
    bool cancelled = false;      ///< it was told to end
    std::chrono::milliseconds took{};
    wall_time at{};                      ///< as its process has it
    std::chrono::milliseconds excused{}; ///< of the message's age: see stood_back()
};

/// Judges by the rules that consumer_options states, and by nothing that a consumer computes.
verdict judge(scenario const&, delivery const&, ending const&);

/// Judges a message that arrived damaged.
verdict judge_damaged(scenario const&);

} // namespace quern::sim
