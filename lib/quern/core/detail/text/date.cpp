#include <quern/core/detail/text/date.hpp>

#include <algorithm>
#include <array>

namespace quern::detail::text {
namespace {

using namespace std::chrono;

constexpr std::array<std::string_view, 12> months{
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

void put(char* at, unsigned value, int digits)
{
    for (int i = digits - 1; i >= 0; --i, value /= 10)
        at[i] = static_cast<char>('0' + value % 10);
}

/// Reads fixed-width fields off the front of a text. After the first that does not fit, `ok` stays false.
struct reader {
    std::string_view rest;
    bool ok = true;

    int number(std::size_t digits)
    {
        int value = 0;
        auto const field = rest.substr(0, digits);
        ok = ok && field.size() == digits;
        for (auto const c : field) {
            ok = ok && c >= '0' && c <= '9';
            value = value * 10 + (c - '0');
        }
        rest.remove_prefix(field.size());
        return ok ? value : 0;
    }

    void skip(std::string_view expected)
    {
        ok = ok && rest.starts_with(expected);
        if (ok) rest.remove_prefix(expected.size());
    }

    /// "4-2-2": numbers of so many digits, and what stands between them.
    template <std::size_t N>
    std::array<int, N> numbers(std::string_view pattern)
    {
        std::array<int, N> out{};
        auto next = out.begin();
        for (auto const& c : pattern)
            if (c >= '1' && c <= '9')
                *next++ = number(static_cast<std::size_t>(c - '0'));
            else
                skip({&c, 1});
        return out;
    }

    int one_of(std::array<std::string_view, 12> const& names)
    {
        for (int i = 0; i != std::ssize(names); ++i) {
            auto const& name = names[static_cast<std::size_t>(i)];
            if (!rest.starts_with(name)) continue;
            rest.remove_prefix(name.size());
            return i + 1;
        }
        ok = false;
        return 0;
    }
};

constexpr int last_year = 2200;

enum class beyond { is_no_time, is_last_moment };

std::optional<wall_time> make_time(
    bool ok, int y, int m, int d, int h, int min, int s, beyond the_last_year = beyond::is_no_time)
{
    year_month_day const date(year(y), month(static_cast<unsigned>(m)), day(static_cast<unsigned>(d)));
    if (!ok || !date.ok() || h > 23 || min > 59 || s > 60 || y < 1970) return {}; // 60: a leap second
    if (y <= last_year) return sys_days(date) + hours(h) + minutes(min) + seconds(s);
    return the_last_year == beyond::is_last_moment ? std::optional(last_moment) : std::nullopt;
}

} // namespace

timestamp::timestamp(wall_time at)
{
    auto const days_ = floor<days>(at);
    year_month_day const date(days_);
    hh_mm_ss const time(floor<seconds>(at - days_));
    put(text_, static_cast<unsigned>(static_cast<int>(date.year())), 4);
    put(text_ + 4, static_cast<unsigned>(date.month()), 2);
    put(text_ + 6, static_cast<unsigned>(date.day()), 2);
    text_[8] = 'T';
    put(text_ + 9, static_cast<unsigned>(time.hours().count()), 2);
    put(text_ + 11, static_cast<unsigned>(time.minutes().count()), 2);
    put(text_ + 13, static_cast<unsigned>(time.seconds().count()), 2);
    text_[15] = 'Z';
}

std::optional<wall_time> parse_timestamp(std::string_view text)
{
    reader in{text};
    auto const [y, m, d, h, min, s] = in.numbers<6>("422T222Z");
    return make_time(in.ok && in.rest.empty(), y, m, d, h, min, s);
}

std::optional<wall_time> parse_rfc3339(std::string_view text)
{
    reader in{text};
    bool const is_basic =
        !in.rest.substr(std::min<std::size_t>(4, in.rest.size())).starts_with('-'); // 20260102T030405Z
    auto const [y, m, d] = in.numbers<3>(is_basic ? "422" : "4-2-2");
    in.skip(in.rest.starts_with(' ') ? " " : in.rest.starts_with('t') ? "t" : "T");
    auto const [h, min, s] = in.numbers<3>(is_basic ? "222" : "2:2:2");
    if (in.rest.starts_with('.') || in.rest.starts_with(',')) { // ISO 8601 has both
        auto const end = in.rest.find_first_not_of("0123456789", 1);
        in.ok = in.ok && end != 1 && end != in.rest.npos;
        in.rest.remove_prefix(std::min(end, in.rest.size()));
    }
    minutes offset{0};
    if (in.rest == "Z" || in.rest == "z" || in.rest == "UTC" || in.rest == "GMT") {
        in.rest = {};
    } else {
        bool const is_west = in.rest.starts_with('-');
        in.skip(is_west ? "-" : "+");
        auto const hours_ = in.number(2);
        bool const is_whole = in.rest.empty();      // "+00"
        if (in.rest.starts_with(':')) in.skip(":"); // strftime's %z has none
        auto const minutes_ = is_whole ? 0 : in.number(2);
        in.ok = in.ok && hours_ < 24 && minutes_ < 60;
        offset = hours(hours_) + minutes(minutes_);
        if (is_west) offset = -offset;
    }
    auto const local = make_time(in.ok && in.rest.empty(), y, m, d, h, min, s, beyond::is_last_moment);
    if (!local) return {};
    return std::min(*local - offset, wall_time(last_moment));
}

std::string rfc3339(wall_time at)
{
    std::string const plain(timestamp(at).text()); // 20260102T030405Z
    auto const part = [&](std::size_t from, std::size_t size) { return plain.substr(from, size); };
    return part(0, 4) + '-' + part(4, 2) + '-' + part(6, 5) + ':' + part(11, 2) + ':' + part(13, 3);
}

std::optional<wall_time> parse_http_date(std::string_view text)
{
    auto const comma = text.find(", ");
    if (comma != 3) return {};
    reader in{text.substr(5)};
    auto const [d] = in.numbers<1>("2 ");
    auto const m = in.one_of(months);
    auto const [y, h, min, s] = in.numbers<4>(" 4 2:2:2 GMT");
    return make_time(in.ok && in.rest.empty(), y, m, d, h, min, s);
}

std::string http_date(wall_time at)
{
    static constexpr std::array<std::string_view, 7> days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    std::string const plain(timestamp(at).text()); // 20260102T030405Z
    auto const part = [&](std::size_t from, std::size_t size) { return plain.substr(from, size); };
    auto const month = static_cast<std::size_t>((plain[4] - '0') * 10 + plain[5] - '0') - 1;
    std::string out(days[weekday(floor<std::chrono::days>(at)).c_encoding()]);
    out.append(", ").append(part(6, 2)).append(" ").append(months[month]).append(" ").append(part(0, 4)).append(" ");
    return out + part(9, 2) + ':' + part(11, 2) + ':' + part(13, 2) + " GMT";
}

} // namespace quern::detail::text
