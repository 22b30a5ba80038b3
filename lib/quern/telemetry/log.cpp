#include <quern/telemetry/log.hpp>

namespace quern {

void log_throttle::write(log_level level, std::string const& cause, std::string_view text, tick now)
{
    if (!sink_) return;
    auto const [at, first] = causes_.try_emplace(cause, history{now});
    auto& seen = at->second;
    if (!first && now - seen.last < std::chrono::seconds(1)) {
        ++seen.held_back;
        return;
    }
    std::string line = cause + ": " + std::string(text);
    if (seen.held_back != 0) line += " (and " + std::to_string(seen.held_back) + " more like it)";
    try {
        sink_(level, line);
    } catch (...) { // whoever logs is in the middle of something that must be finished
    }
    seen = history{now};
}

} // namespace quern
