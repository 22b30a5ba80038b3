#include "redrive/copy_check.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace quern::app {

std::string what_is_missing(copy_of_queue const& c)
{
    if (c.interrupted) return "a signal ended it early: begin again";
    if (c.damaged != 0) return fmt::format("{} arrived damaged: begin again", c.damaged);
    auto const total = std::max(c.before, c.after);
    if (total <= c.copied) return {};
    auto const missing = total - c.copied;

    // Ours are in flight as well.
    auto const elsewhere = std::min(c.in_flight_after - std::min(c.in_flight_after, c.copied), missing);
    auto const delayed = std::min(c.delayed_after, missing - elsewhere);
    auto const others = missing - elsewhere - delayed;
    std::string which, remedy = "begin again when they can be received";
    auto const add = [&](std::size_t count, char const* what) {
        if (count != 0) which += fmt::format("{}{} {}", which.empty() ? "" : ", ", count, what);
    };
    add(elsewhere, "in flight elsewhere");
    add(delayed, "delayed");
    if (c.queue.ends_with(".fifo")) {
        add(others, "behind others of their group");
        if (others != 0) remedy = "a FIFO queue gives out only the first messages of each group";
    } else {
        add(others, "not given out, or gone: the counts may be a minute old");
    }
    return fmt::format(
        "missing: {} ({}): {}; `quern queue attributes {}` shows the counts", missing, which, remedy, c.queue);
}

} // namespace quern::app
