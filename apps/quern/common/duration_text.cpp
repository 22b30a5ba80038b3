#include "common/duration_text.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace quern::app {
namespace {

struct unit {
    std::string_view name;
    double size;
};

/// The number at the front of the text, which is taken off; nothing when there is none.
std::optional<double> take_number(std::string_view& text)
{
    double out = 0;
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out, std::chars_format::fixed);
    if (ec != std::errc() || text.starts_with('-')) return {};
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return out;
}

} // namespace

std::optional<std::chrono::milliseconds> duration_from(std::string_view text)
{
    constexpr unit units[] = {
        {"ms", 1}, {"min", 60'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"d", 86'400'000}};
    constexpr double year = 366.0 * 24 * 3'600'000;
    if (text.empty()) return {};
    double sum = 0;
    while (!text.empty()) {
        auto const number = take_number(text);
        if (!number) return {};
        double size = 0;
        for (auto const& u : units) {
            if (size == 0 && text.starts_with(u.name)) {
                size = u.size;
                text.remove_prefix(u.name.size());
            }
        }
        if (size == 0 && text.empty() && sum == 0) size = 1'000;
        if (size == 0) return {};
        sum += *number * size;
        if (!(sum <= year)) return {};
    }
    return std::chrono::milliseconds(std::llround(sum));
}

std::string duration_text(std::chrono::milliseconds of)
{
    auto const ms = of.count();
    if (ms % 1000 != 0) return std::to_string(ms) + "ms";
    auto const s = ms / 1000;
    std::string out;
    if (s >= 3600) out = std::to_string(s / 3600) + "h";
    if (s / 60 % 60 != 0) out += std::to_string(s / 60 % 60) + "m";
    if (s % 60 != 0 || s == 0) out += std::to_string(s % 60) + "s";
    return out;
}

std::optional<std::uint64_t> bytes_from(std::string_view text)
{
    constexpr unit units[] = {
        {"", 1}, {"B", 1}, {"KiB", 1024}, {"MiB", 1024.0 * 1024}, {"GiB", 1024.0 * 1024 * 1024}};
    auto const number = take_number(text);
    if (!number || !(*number <= 1e12)) return {};
    for (auto const& u : units)
        if (text == u.name) return static_cast<std::uint64_t>(std::llround(*number * u.size));
    return {};
}

} // namespace quern::app
