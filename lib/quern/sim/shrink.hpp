#pragma once

#include <quern/sim/scenario.hpp>

#include <cstddef>
#include <functional>
#include <string>

namespace quern::sim {

/// A day as small as it gets while it fails as before.
struct shrunk {
    scenario day;
    std::size_t runs = 0; ///< days that it took
};

/// Takes from a day all that it can do without: messages, incidents, spells and their faults, processes, what
/// handlers do, settings that are not the usual ones. Tries the largest pieces first, other seeds where many messages
/// are left, and ends when no step is left.
///
/// `fails`: whether this day still shows what is looked for. Called up to `most_runs` times; a day that makes it
/// throw counts as one that does not.
shrunk shrink(scenario, std::function<bool(scenario const&)> const& fails, std::size_t most_runs = 5'000);

/// C++ that makes `day` of the variable `day` that holds `from`, a statement in each line: for a test.
std::string to_code(scenario const& day, scenario const& from);

/// A violation without its numbers, so that those of two days can be compared: "process # runs more than # handlers".
std::string kind_of(std::string const& violation);

} // namespace quern::sim
