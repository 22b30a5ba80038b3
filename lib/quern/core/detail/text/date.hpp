#pragma once

#include <quern/core/clock.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace quern::detail::text {

/// A time as signatures write it: "20150830T123600Z".
class timestamp {
public:
    explicit timestamp(wall_time);

    std::string_view text() const { return {text_, sizeof text_}; }
    std::string_view day() const { return {text_, 8}; }

private:
    char text_[16];
};

/// End of the year 2200: nanoseconds since 1970 overflow in 2262.
inline constexpr wall_time last_moment =
    std::chrono::sys_days(std::chrono::year(2200) / 12 / 31) + std::chrono::hours(24) - std::chrono::seconds(1);

/// The time that such a text means; nothing when it is not exactly of that form, or not from 1970 to 2200.
std::optional<wall_time> parse_timestamp(std::string_view);

/// The time that "2026-01-02T03:04:05Z" means; also with a fraction of a second, which is dropped, with "+hh:mm" or
/// "-hh:mm", and as other tools write it: "+hhmm" of strftime, "+hh", a comma before the fraction, a blank for the T,
/// small letters, "UTC" or "GMT" in the place of Z, and the basic form "20260102T030405Z". Years after 2200 mean
/// last_moment, for those who write 9999 and mean never.
std::optional<wall_time> parse_rfc3339(std::string_view);

/// "2026-01-02T03:04:05Z"
std::string rfc3339(wall_time);

/// The time in a Date header: "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7). Its two obsolete forms are not read:
/// no server has to send them, and here a date is only a hint.
std::optional<wall_time> parse_http_date(std::string_view);

/// "Sat, 21 Nov 2026 07:05:00 GMT"
std::string http_date(wall_time);

} // namespace quern::detail::text
