#include <quern/core/detail/printable.hpp>
#include <quern/telemetry/log.hpp>

#include <cstdio>

namespace quern {

using namespace detail;

namespace {

constexpr std::chrono::seconds between_lines{1};
constexpr std::size_t longest = 1'000; // of a text, in bytes: an exception may quote a whole message
constexpr std::size_t most_kinds =
    20; // of a cause within a second: an exception may have a text of its own each time

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

void log_throttle::write(log_level level, std::string const& cause, log_entry what, tick now)
{
    auto line = cause + ": " + printable(shortened(what.text));
    if (level >= log_level::warning) last_problem_ = problem{line, now};
    if (!sink_) return;
    auto& of = causes_[cause];
    make_room(of, what.kind, now);
    auto const [at, first] = of.try_emplace(std::move(what.kind), history{now, level, 0, {}, {}, {}});
    if (first) return pass(level, line, what.about);
    auto& seen = at->second;
    if (now - seen.last < between_lines) {
        seen.level = level;
        ++seen.held_back;
        seen.line = std::move(line);
        seen.message_id = what.about.message_id;
        seen.about = what.about;
        holds_back_ = true;
        return;
    }
    if (seen.held_back != 0) line += " (and " + std::to_string(seen.held_back) + " more like it)";
    seen.last = now;
    seen.held_back = 0;
    pass(level, line, what.about);
}

/// Kinds without a line for a second make room for a new one. Where there is none, it is among the rest.
void log_throttle::make_room(kinds& of, std::string& kind, tick now)
{
    if (of.size() < most_kinds || of.contains(kind)) return;
    std::erase_if(
        of, [&](auto const& one) { return one.second.held_back == 0 && now - one.second.last >= between_lines; });
    if (of.size() >= most_kinds) kind = "the rest";
}

void log_throttle::write_each(
    log_level level, std::string const& cause, std::string_view text, tick now, log_subject const& about)
{
    auto const line = cause + ": " + printable(shortened(text));
    if (level >= log_level::warning) last_problem_ = problem{line, now};
    if (sink_) pass(level, line, about);
}

void log_throttle::flush(tick now)
{
    if (!std::exchange(holds_back_, false)) return;
    for (auto& [cause, of] : causes_) {
        for (auto& [kind, seen] : of) {
            if (seen.held_back == 0) continue;
            if (now - seen.last < between_lines)
                holds_back_ = true;
            else
                tell_held_back(seen, now);
        }
    }
}

void log_throttle::tell_held_back(history& seen, tick now)
{
    auto line = std::exchange(seen.line, {});
    if (seen.held_back > 1) line += " (and " + std::to_string(seen.held_back - 1) + " more like it)";
    seen.about.message_id = seen.message_id;
    seen.last = now;
    seen.held_back = 0;
    pass(seen.level, line, seen.about);
}

void log_throttle::pass(log_level level, std::string const& line, log_subject about)
{
    about.queue = queue_;
    try {
        sink_(level, log_text(line, about));
    } catch (...) { // whoever logs is in the middle of something that must be finished
    }
}

} // namespace quern
