#pragma once

#include <quern/core/clock.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace quern {

enum class log_level { debug, info, warning, error };

char const* to_string(log_level); ///< "debug", "info", "warning", "error"

/// Subject of a line of the log, as far as it is known, for sinks that write fields.
struct log_subject {
    std::string_view queue;                         ///< its URL
    std::string_view message_id;                    ///< empty: the line is about no message
    int attempt = 0;                                ///< the receive count of the message
    int status = 0;                                 ///< of a web service's answer, or of a command; 0: neither
    std::optional<std::chrono::milliseconds> delay; ///< until the message comes again
};

/// A line of the log as a sink gets it: its text, and its subject. A sink that takes a std::string_view gets the text
/// alone. The views hold during the call.
class log_text : public std::string_view {
public:
    template <std::convertible_to<std::string_view> Text>
    log_text(Text const& text, log_subject const& about = {}) : std::string_view(text), about(about)
    {}

    log_subject about;
};

/// Where the library's messages go. Called on the strand of whoever logs; must not block; an exception is
/// swallowed. Empty: nowhere.
using log_sink = std::function<void(log_level, log_text const& text)>;

/// Writes "quern: warning: receive failed: ..." to standard error, a line at a time; nothing of level debug.
/// Where that is a pipe that nobody reads, whoever logs waits.
log_sink to_standard_error();

/// Line for log_throttle: its cause, its text, and what tells it from others of that cause.
struct log_entry {
    std::string text;
    std::string kind; ///< lines of one kind stand for each other; empty: all of the cause
    log_subject about;
};

/// Passes at most one line a second for each kind of each cause, and says how many were held back: with the next line
/// of that kind, or in a line that repeats the last of them when flush() is called after that second. Within a second
/// a cause has 20 kinds at most; the rest share one. A text of more than 1,000 bytes is cut. What is passed is
/// printable().
class log_throttle {
public:
    /// `queue`: its URL, for every line; empty: none.
    explicit log_throttle(log_sink sink, std::string queue = {}) : sink_(std::move(sink)), queue_(std::move(queue)) {}

    void write(log_level level, std::string const& cause, std::string_view text, tick now)
    {
        write(level, cause, log_entry{std::string(text), {}, {}}, now);
    }
    void write(log_level level, std::string const& cause, log_entry what, tick now);

    /// Passes a line that must not be missed, however many there are: what it tells of cannot be found out later.
    void write_each(
        log_level level, std::string const& cause, std::string_view text, tick now, log_subject const& about = {});

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
        log_level level = log_level::info; // of what was held back last, like the following
        std::size_t held_back = 0;
        std::string line, message_id;
        log_subject about; // but for the views
    };
    using kinds = std::map<std::string, history>;
    static void make_room(kinds& of, std::string& kind, tick now);
    void tell_held_back(history&, tick now);
    void pass(log_level, std::string const& line, log_subject about);

    log_sink sink_;
    std::string const queue_;
    std::map<std::string, kinds> causes_; // causes are named in the code: few
    bool holds_back_ = false;
    std::optional<problem> last_problem_;
};

} // namespace quern
