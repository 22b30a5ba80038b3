#pragma once

#include <quern/core/clock.hpp>

#include <cstddef>
#include <string>

namespace quern::app {

/// How far a command has come, on standard error: a bar that is redrawn ten times a second at most on a terminal. A
/// file gets a line after two seconds, then after four, and so on up to a minute between two lines.
class progress {
public:
    /// `what`: "sent"; `total`: 0 when it is not known; `before`: what was done of it before `now`.
    progress(std::string what, std::size_t total, tick now, std::size_t before = 0);

    /// Draws when it is time to; `more` behind the rest.
    void show(std::size_t done, tick now, std::string const& more = {});

    /// Wipes the bar off.
    void finish();

private:
    std::string what_;
    std::size_t total_, before_;
    bool terminal_;
    std::chrono::milliseconds pause_{2'000};
    tick began_at_, due_at_;
    bool drawn_ = false;
};

} // namespace quern::app
