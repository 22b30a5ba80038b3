#include "common/progress.hpp"

#include "common/standard_streams.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <unistd.h>

namespace quern::app {

using namespace std::chrono_literals;

namespace {

/// "sent 4000 of 10000 (40 %), 8000/s"
std::string progress_line(std::string const& what, std::size_t done, std::size_t total, double per_second)
{
    if (total == 0) return fmt::format("{} {}, {:.0f}/s", what, done, per_second);
    return fmt::format("{} {} of {} ({} %), {:.0f}/s", what, done, total, done * 100 / total, per_second);
}

} // namespace

progress::progress(std::string what, std::size_t total, tick now, std::size_t before)
    : what_(std::move(what)), total_(total), before_(before), terminal_(::isatty(STDERR_FILENO) == 1), began_at_(now),
      due_at_(now + (terminal_ ? 100ms : pause_))
{}

void progress::show(std::size_t done, tick now, std::string const& more)
{
    if (now < due_at_) return;
    if (!terminal_) pause_ = std::min<std::chrono::milliseconds>(2 * pause_, 1min);
    due_at_ = now + (terminal_ ? 100ms : pause_);
    if (total_ != 0) total_ = std::max(total_, done); // more have come since
    auto const seconds = std::chrono::duration<double>(now - began_at_).count();
    auto const now_done = static_cast<double>(done - std::min(before_, done));
    auto line = progress_line(what_, done, total_, seconds > 0 ? now_done / seconds : 0.0);
    if (!more.empty()) line += ": " + more;
    if (!terminal_) {
        say(stderr, "{}\n", line);
        return;
    }
    constexpr std::size_t width = 30;
    auto const filled = total_ == 0 ? 0 : std::min(width, done * width / total_);
    auto const bar = total_ == 0 ? std::string() : fmt::format("[{:#<{}}{:.<{}}] ", "", filled, "", width - filled);
    say(stderr, "\r{}{}\033[K", bar, line);
    std::fflush(stderr);
    drawn_ = true;
}

void progress::finish()
{
    if (std::exchange(drawn_, false)) say(stderr, "\r\033[K");
}

} // namespace quern::app
