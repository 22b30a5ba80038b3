#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <array>
#include <bitset>
#include <optional>
#include <string_view>

namespace quern::app {

/// Times of a periodic task, as cron writes them: minute, hour, day of the month, month, day of the week, in UTC.
/// Each is "*", a number, a range "1-5", a step "*/15", or several of these with commas between; months and days of
/// the week may be their first three letters. Where both days are restricted, either is enough.
class cron_schedule {
public:
    /// Fails with  errc::invalid_option  the end of a sentence that names the schedule
    static result<cron_schedule> parse(std::string_view);

    /// The first time after this one; nothing where there is none within five years, as on the 30th of February.
    std::optional<wall_time> next_after(wall_time) const;

private:
    bool has_day(std::chrono::sys_days) const;

    std::bitset<60> minutes_;
    std::bitset<24> hours_;
    std::bitset<32> days_;
    std::bitset<13> months_;
    std::bitset<8> weekdays_; ///< Sunday is 0
    bool any_day_ = false, any_weekday_ = false;
};

} // namespace quern::app
