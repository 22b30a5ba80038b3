#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace quern::app {

/// Days whose coverage is wanted.
struct cover_order {
    std::vector<std::string_view> scenarios;
    std::uint64_t first_seed = 1;
    std::size_t days = 0;
    std::size_t threads = 1;
    bool guided = false;  ///< a scenario that reaches what is rare comes more often; else each in turn
    bool compare = false; ///< run the days in turn as well
};

/// Runs the days and prints what they have reached, after how many days, and what none has. The same order gives the
/// same days however many threads there are. Returns the status of the program.
int run_cover(cover_order const&);

} // namespace quern::app
