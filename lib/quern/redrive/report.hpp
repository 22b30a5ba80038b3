#pragma once

#include <quern/consumer/drain_report.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace quern::redrive {

/// A message that stays in the dead-letter queue though it was chosen.
struct left_message {
    std::string id, reason;
};

/// The work of a run.
struct report {
    std::size_t redriven = 0;   ///< sent to be tried again, and confirmed by that queue
    std::size_t isolated = 0;   ///< likewise, by the poison queue
    std::size_t deleted = 0;    ///< of both, from the dead-letter queue; the rest may be redriven twice, or was kept
    std::size_t skipped = 0;    ///< not chosen
    std::size_t unreadable = 0; ///< of these, since a condition about the body found no JSON there, see match
    std::size_t came_back = 0;  ///< failed again, as far as the run saw
    std::size_t left = 0;       ///< chosen and neither sent nor isolated
    std::size_t failures = 0;   ///< sends that failed or were refused; most are tried again

    /// Messages that may be in two queues now: the answer to a send was lost, or a delete was not confirmed.
    std::size_t maybe_twice = 0;

    std::map<std::string, std::size_t> by_queue;  ///< redriven to, by name
    std::map<std::string, std::size_t> by_reason; ///< isolated or left for
    std::vector<left_message> left_messages;      ///< the first hundred
    std::optional<std::string> stopped; ///< the reason why a rule, or a failure for good, ended the run early
    std::optional<std::chrono::seconds> watches_for; ///< time for which the canary is still watched, nothing sent
    bool journal_failed = false;                     ///< it could not be written; nothing was sent from then on
    bool cancelled = false;                          ///< for good, by somebody who asked for it through the journal
    bool dry_run = false;                            ///< what would have been done was only counted
    std::size_t waiting = 0;                         ///< messages that are not due: resume the run
    std::size_t unknown = 0; ///< messages that may have been sent before the run was resumed, and were not seen since
    std::size_t depth = 0;   ///< messages in the queue when it began
    std::size_t elsewhere = 0; ///< messages in flight when it had come to the end of the queue, held by others
    std::size_t behind = 0;    ///< of a FIFO queue: behind messages of their group that were not chosen, never seen
    std::size_t still_hidden = 0; ///< messages that could not be made visible again: they become so by themselves
    bool interrupted = false;     ///< told to end before it had come to the end of the queue
    std::chrono::milliseconds took{0};
    drain_report drain;
};

/// One line of JSON.
std::string to_json(report const&);

} // namespace quern::redrive
