#include "relay/cron_schedule.hpp"

#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/reading.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>

namespace quern::app {
namespace {

using std::chrono::days;
using std::chrono::sys_days;

/// One of the five parts.
struct cron_field {
    int first, last;
    std::string_view const* names; ///< of the numbers from `first` on; null: none
};

constexpr std::string_view month_names[] = {
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr cron_field cron_fields[] = {
    {0, 59, nullptr}, {0, 23, nullptr}, {1, 31, nullptr}, {1, 12, month_names}, {0, 7, weekday_names}};

std::optional<int> cron_number(std::string_view text, cron_field const& of)
{
    if (of.names) {
        auto const count = of.last == 12 ? std::size(month_names) : std::size(weekday_names);
        for (std::size_t i = 0; i != count; ++i)
            if (quern::detail::text::equal_ignoring_case(text, of.names[i])) return of.first + static_cast<int>(i);
    }
    auto const out = quern::detail::text::number_in<int>(text);
    return out && *out >= of.first && *out <= of.last ? out : std::nullopt;
}

/// Sets what a piece, "1-5/2", stands for. False when it is none.
template <std::size_t Size>
bool add_piece(std::bitset<Size>& to, std::string_view piece, cron_field const& of)
{
    auto const slash = piece.find('/');
    auto const step =
        slash == piece.npos ? std::optional(1) : quern::detail::text::number_in<int>(piece.substr(slash + 1));
    piece = piece.substr(0, slash);
    auto first = std::optional(of.first), last = std::optional(of.last);
    if (piece != "*") {
        auto const dash = piece.find('-');
        first = cron_number(piece.substr(0, dash), of);
        last = dash != piece.npos ? cron_number(piece.substr(dash + 1), of) : slash == piece.npos ? first : last;
    }
    if (!step || *step < 1 || !first || !last || *first > *last) return false;
    for (int n = *first; n <= *last; n += *step)
        to.set(static_cast<std::size_t>(n));
    return true;
}

template <std::size_t Size>
bool add_all(std::bitset<Size>& to, std::string_view part, cron_field const& of)
{
    if (part.empty() || part.ends_with(',')) return false;
    while (!part.empty())
        if (!add_piece(to, quern::detail::text::take_piece(part, ','), of)) return false;
    return true;
}

} // namespace

result<cron_schedule> cron_schedule::parse(std::string_view from)
{
    std::array<std::string_view, 5> parts;
    std::size_t count = 0;
    for (auto rest = quern::detail::text::trimmed(from); !rest.empty(); ++count) {
        auto const part = rest.substr(0, rest.find_first_of(" \t"));
        if (count < parts.size()) parts[count] = part;
        rest = quern::detail::text::trimmed(rest.substr(part.size()));
    }
    cron_schedule out;
    bool const is_one = count == parts.size() && add_all(out.minutes_, parts[0], cron_fields[0]) &&
        add_all(out.hours_, parts[1], cron_fields[1]) && add_all(out.days_, parts[2], cron_fields[2]) &&
        add_all(out.months_, parts[3], cron_fields[3]) && add_all(out.weekdays_, parts[4], cron_fields[4]);
    if (!is_one)
        return failure(errc::invalid_option,
            "must be minute, hour, day of the month, month and day of the week, as 0 */12 * * * or 30 6 * * mon-fri");
    out.any_day_ = parts[2].starts_with('*');
    out.any_weekday_ = parts[4].starts_with('*');
    if (out.weekdays_[7]) out.weekdays_.set(0);
    return out;
}

bool cron_schedule::has_day(sys_days day) const
{
    std::chrono::year_month_day const date(day);
    if (!months_[static_cast<unsigned>(date.month())]) return false;
    bool const by_day = days_[static_cast<unsigned>(date.day())];
    bool const by_weekday = weekdays_[std::chrono::weekday(day).c_encoding()];
    return any_day_ || any_weekday_ ? by_day && by_weekday : by_day || by_weekday;
}

std::optional<wall_time> cron_schedule::next_after(wall_time now) const
{
    using namespace std::chrono;
    constexpr days furthest{5 * 366};
    auto const from = floor<minutes>(now) + minutes(1);
    auto const first_day = floor<days>(from);
    for (auto day = first_day; day <= first_day + furthest; day += days(1)) {
        if (!has_day(day)) continue;
        for (auto minute = day == first_day ? from - day : minutes(0); minute < days(1); minute += minutes(1)) {
            auto const of_day = minute.count();
            if (hours_[static_cast<std::size_t>(of_day / 60)] && minutes_[static_cast<std::size_t>(of_day % 60)])
                return day + minute;
        }
    }
    return {};
}

} // namespace quern::app
