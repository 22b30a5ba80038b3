#pragma once

#include <quern/core/clock.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace quern::idempotency {

/// Row of a key, as a store keeps it.
struct record {
    enum class state { in_progress, completed };
    state is = state::in_progress;
    wall_time expires{};                          ///< from then on it counts as if it were not there; whole seconds
    std::optional<wall_time> in_progress_until{}; ///< the claim's end; absent: as `expires`. Whole milliseconds
    std::string owner{};                          ///< token of the claim; empty: somebody who knows of none
    std::optional<std::string> result{};          ///< of the handler, as JSON
    std::string validation{};                     ///< hash of the payload; empty: none
};

/// Whether a claim on that row may be made: there is none, it has expired, or its claim has.
///
/// Two clocks in one: `expires` in whole seconds, the claim's end in milliseconds, as the stores keep them.
bool is_free(record const*, wall_time now);

/// End of a claim, by what it met.
enum class claim_kind {
    claimed,     ///< the key is ours: run
    taken_over,  ///< it is ours, after a claim that was never completed had run out
    completed,   ///< it was done before
    in_progress, ///< somebody works on it
    mismatch,    ///< it was done before, with another payload
};
std::string_view name_of(claim_kind);

struct claim_verdict {
    claim_kind is = claim_kind::claimed;
    wall_time until{}; ///< of in_progress: when the claim that stands there ends, unless it is extended
};

/// A wish to work on a key.
struct claim_wish {
    std::string owner;      ///< a token of its own, new for each claim
    std::string validation; ///< hash of the payload; empty: it is not compared
};

/// Decides what a claim is worth that found this row.
///
///     row                                              | ->
///     none                                             | claimed
///     expires before now                               | claimed
///     in progress, owner is mine                       | claimed      (a repeated request met its own row)
///     in progress, its claim ended before now          | taken_over
///     in progress                                      | in_progress, until the claim's end
///     completed, both have a validation, and different | mismatch
///     completed                                        | completed
claim_verdict judge_claim(record const* row, claim_wish const&, wall_time now);

/// End of a write of the owner: an extension, the completion, the end without one.
enum class write_kind {
    done,       ///< it stands, or stood already
    gone,       ///< there is no row any more
    lost,       ///< somebody else has the key
    superseded, ///< somebody else has completed it
};

/// Decides what a refused write of `owner` is worth, given the row that stood in its way.
///
///     row                       | ->
///     none                      | gone
///     in progress, owner is mine | done
///     completed, owner is mine  | done
///     completed                 | superseded
///     in progress               | lost
write_kind judge_refusal(record const* row, std::string_view owner);

/// Whether the owner of a claim may write: the row is in progress, and his.
bool is_mine(record const* row, std::string_view owner);

/// Conduct towards a message whose key somebody else works on.
struct wait_rule {
    /// The longest wait here, the lease extended meanwhile; then the message is given back until that claim ends.
    std::chrono::milliseconds longest{30'000};

    /// How long to wait before the next look. Nothing: give the message back until `until`. A message on its last
    /// receive is never given back, since the dead-letter queue would take it. `waited`: so far, for this message.
    std::optional<std::chrono::milliseconds> next_look(
        wall_time now, wall_time until, std::chrono::milliseconds waited, bool last_receive) const;
};

/// "kZ0…", 22 characters of 132 random bits from the system: who knows it has made it.
std::string new_owner();

} // namespace quern::idempotency
