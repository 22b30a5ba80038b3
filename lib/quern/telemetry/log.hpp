#pragma once

#include <quern/core/clock.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace quern {

enum class log_level { debug, info, warning, error };

/// Where the library's messages go. Called on the strand of whoever logs; must not block; an exception is
/// swallowed. Empty: nowhere.
using log_sink = std::function<void(log_level, std::string_view text)>;

/// Passes at most one line a second per cause, and says how many were held back.
class log_throttle {
public:
    explicit log_throttle(log_sink sink) : sink_(std::move(sink)) {}

    void write(log_level level, std::string const& cause, std::string_view text, tick now);

private:
    struct history {
        tick last;
        std::size_t held_back = 0;
    };
    log_sink sink_;
    std::map<std::string, history> causes_; // causes are named in the code: few
};

} // namespace quern
