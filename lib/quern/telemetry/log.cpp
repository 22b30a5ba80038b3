#include <quern/core/detail/printable.hpp>
#include <quern/telemetry/log.hpp>

#include <cstdio>

namespace quern {

namespace {

constexpr std::chrono::seconds between_lines{1};
constexpr std::size_t longest = 1'000; // of a text, in bytes: an exception may quote a whole message

/// Cut between two characters of UTF-8.
std::string shortened(std::string_view text)
{
    if (text.size() <= longest) return std::string(text);
    auto end = longest;
    while (end > longest - 4 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
        --end;
    return std::string(text.substr(0, end)) + "…";
}

} // namespace

char const* to_string(log_level level)
{
    switch (level) {
    case log_level::debug: return "debug";
    case log_level::info: return "info";
    case log_level::warning: return "warning";
    case log_level::error: break;
    }
    return "error";
}

log_sink to_standard_error()
{
    return [](log_level level, std::string_view text) {
        if (level == log_level::debug) return;
        auto const line = std::string("quern: ") + to_string(level) + ": " + std::string(text) + '\n';
        std::fwrite(line.data(), 1, line.size(), stderr); // in one piece: it has no buffer
    };
}

void log_throttle::write(log_level level, std::string const& cause, std::string_view text, tick now)
{
    auto line = cause + ": " + printable(shortened(text));
    if (level >= log_level::warning) last_problem_ = problem{line, now};
    if (!sink_) return;
    auto const [at, first] = causes_.try_emplace(cause, history{now});
    auto& seen = at->second;
    if (!first && now - seen.last < between_lines) {
        seen.level = level;
        ++seen.held_back;
        holds_back_ = true;
        return;
    }
    if (seen.held_back != 0) line += " (and " + std::to_string(seen.held_back) + " more like it)";
    seen = history{now};
    pass(level, line);
}

void log_throttle::write_each(log_level level, std::string const& cause, std::string_view text, tick now)
{
    auto const line = cause + ": " + printable(shortened(text));
    if (level >= log_level::warning) last_problem_ = problem{line, now};
    if (sink_) pass(level, line);
}

void log_throttle::flush(tick now)
{
    if (!std::exchange(holds_back_, false)) return;
    for (auto& [cause, seen] : causes_) {
        if (seen.held_back == 0) continue;
        if (now - seen.last < between_lines) {
            holds_back_ = true;
            continue;
        }
        auto const line = cause + ": " + std::to_string(seen.held_back) + " more like it";
        auto const level = seen.level;
        seen = history{now};
        pass(level, line);
    }
}

void log_throttle::pass(log_level level, std::string const& line)
{
    try {
        sink_(level, line);
    } catch (...) { // whoever logs is in the middle of something that must be finished
    }
}

} // namespace quern
