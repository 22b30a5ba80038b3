#pragma once

#include <quern/core/clock.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace quern {

enum class log_level { debug, info, warning, error };

char const* to_string(log_level); ///< "debug", "info", "warning", "error"

/// Where the library's messages go. Called on the strand of whoever logs; must not block; an exception is
/// swallowed. Empty: nowhere.
using log_sink = std::function<void(log_level, std::string_view text)>;

/// Writes "quern: warning: receive failed: ..." to standard error, a line at a time; nothing of level debug.
/// Where that is a pipe that nobody reads, whoever logs waits.
log_sink to_standard_error();

/// Passes at most one line a second per cause, and says how many were held back: with the next line of that cause, or
/// in a line of its own when flush() is called after that second. A text of more than 1,000 bytes is cut. What
/// is passed is printable().
class log_throttle {
public:
    explicit log_throttle(log_sink sink) : sink_(std::move(sink)) {}

    void write(log_level level, std::string const& cause, std::string_view text, tick now);

    /// Passes a line that must not be missed, however many there are: what it tells of cannot be found out later.
    void write_each(log_level level, std::string const& cause, std::string_view text, tick now);

    /// Tells of what was held back more than a second ago.
    void flush(tick now);

    struct problem {
        std::string text;
        tick at;
    };

    /// The last warning or error, whether it was passed, held back, or there is no sink.
    std::optional<problem> const& last_problem() const { return last_problem_; }

private:
    struct history {
        tick last;
        log_level level = log_level::info; // of what was held back last
        std::size_t held_back = 0;
    };
    void pass(log_level, std::string const& line);

    log_sink sink_;
    std::map<std::string, history> causes_; // causes are named in the code: few
    bool holds_back_ = false;
    std::optional<problem> last_problem_;
};

} // namespace quern
