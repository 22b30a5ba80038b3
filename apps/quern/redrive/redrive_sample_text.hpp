#pragma once

#include <quern/redrive/sample.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace quern::app {

/// A look at a queue: what was seen, and what it cost.
struct look {
    redrive::sample seen;
    std::string queue;                 ///< by name
    std::string by;                    ///< the part by which it groups, as it was written; empty: none
    std::optional<std::int64_t> depth; ///< messages in the queue, about; absent: nobody may ask
    int moves_on_after = 0;            ///< maxReceiveCount of its own redrive policy; 0: it has none
    std::size_t requests = 0;          ///< all of them
    std::size_t damaged = 0;           ///< messages that arrived and could not be read
    std::size_t still_hidden = 0;      ///< until their leases end: SQS was told to show them, and did not confirm
    bool interrupted = false;          ///< by a signal
    std::chrono::milliseconds took{0}; ///< from the first receive until all were visible again
};

/// A line for each message under a line of names; the columns of what none has are left out.
std::string table_of(redrive::sample const&);

/// A line for each group: "30 from orders, sent 2026-11-22T14:20:17.142Z to 2026-11-22T14:21:00.001Z".
std::string groups_of(look const&);

/// A JSON object a line for each message.
std::string json_lines_of(redrive::sample const&);

/// One line of JSON: the groups, and what the look cost.
std::string json_groups_of(look const&);

/// The cost of the look, in words.
std::string cost_of(look const&);

} // namespace quern::app
