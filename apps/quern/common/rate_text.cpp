#include "common/rate_text.hpp"

#include <quern/core/detail/text/reading.hpp>

#include <chrono>
#include <cmath>
#include <map>

namespace quern::app {

using namespace quern::detail;
using namespace std::chrono_literals;

std::optional<policy::rate> rate_from(std::string_view text)
{
    static std::map<std::string_view, std::chrono::seconds> const units{
        {"s", 1s}, {"min", 1min}, {"h", std::chrono::hours(1)}};
    auto const slash = text.find('/');
    auto const unit = units.find(slash == text.npos ? "s" : text.substr(slash + 1));
    auto const value = text::number_in<double>(text.substr(0, slash));
    if (unit == units.end() || !value || !(*value >= 0.1 && *value <= 1e6)) return {};
    policy::rate out; // in tens, so that parts of a message count as well
    out.count = std::llround(*value * 10);
    out.per = unit->second * 10;
    return out;
}

std::string check_rate(std::string const& text)
{
    if (rate_from(text)) return {};
    return text + " is no rate: 50 for fifty a second, or 30/min, or 100/h; from 0.1 to 1000000 of these";
}

} // namespace quern::app
