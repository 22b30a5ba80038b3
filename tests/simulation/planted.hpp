#pragma once

#include <quern/sim/subject.hpp>

namespace quern::sim {

/// Defects that this consumer had itself, and that no naive one can have: it reads no redrive policy and hands
/// nothing to a poison queue.
enum class planted {
    reads_policy_once, ///< at its start
    keeps_old_reason,  ///< of a message that was rejected before, on its copy
    loses_origin,      ///< id, queue and receive count are not on the copy
    loses_trace,       ///< the trace header neither
    stops_at_a_streak, ///< see streak_gate
};

/// quern::consumer, with an api or a gate that puts the defect back.
subject_factory consumer_with(planted);

} // namespace quern::sim
