#include "redrive/redrive_text.hpp"

#include "common/duration_text.hpp"
#include "common/rate_text.hpp"

#include <quern/core/detail/text/reading.hpp>

#include <fmt/core.h>

#include <utility>

namespace quern::app {

using namespace quern::detail;

namespace {

using namespace std::chrono_literals;

/// Both sides of the first `between`.
std::optional<std::pair<std::string_view, std::string_view>> cut(std::string_view text, std::string_view between)
{
    auto const at = text.find(between);
    if (at == text.npos) return {};
    return std::pair(text.substr(0, at), text.substr(at + between.size()));
}

} // namespace

std::optional<double> per_second(std::string_view text)
{
    auto const rate = rate_from(text);
    if (!rate) return {};
    return static_cast<double>(rate->count) / std::chrono::duration<double>(rate->per).count();
}

std::optional<redrive::ramp> ramp_from(std::string_view text)
{
    auto const colon = text.rfind(':');
    auto const ends = cut(text.substr(0, colon), "..");
    if (colon == text.npos || !ends) return {};
    auto const from = per_second(ends->first), to = per_second(ends->second);
    auto const over = duration_from(text.substr(colon + 1));
    if (!from || !to || !over) return {};
    redrive::ramp out;
    out.from = *from;
    out.to = *to;
    out.over = *over;
    return out;
}

std::optional<redrive::canary> canary_from(std::string_view text)
{
    auto const parts = cut(text, ":");
    if (!parts) return {};
    auto const count = text::number_in<std::size_t>(parts->first);
    auto const watch = duration_from(parts->second);
    if (!count || !watch) return {};
    redrive::canary out;
    out.count = *count;
    out.watch = *watch;
    return out;
}

std::optional<double> ratio_from(std::string_view text)
{
    if (!text.ends_with('%')) return {};
    auto const percent = text::number_in<double>(text.substr(0, text.size() - 1));
    if (!percent || !(*percent >= 0 && *percent <= 100)) return {};
    return *percent / 100;
}

std::optional<redrive::failure_limit> failure_limit_from(std::string_view text)
{
    auto const parts = cut(text, "/");
    if (!parts) return {};
    auto const count = text::number_in<std::size_t>(parts->first);
    redrive::failure_limit out;
    if (parts->second == "s")
        out.per = 1s;
    else if (parts->second == "min")
        out.per = 1min;
    else if (parts->second == "h")
        out.per = 1h;
    if (!count || *count == 0 || out.per.count() == 0) return {};
    out.count = *count;
    return out;
}

result<redrive::target> rule_from(std::string_view text)
{
    constexpr std::string_view arrow = "->";
    auto const at = text.rfind(arrow);
    auto const queue = at == text.npos ? std::string_view() : text::trimmed(text.substr(at + arrow.size()));
    if (queue.empty())
        return failure(
            errc::invalid_option, "it is no rule: write CONDITION -> QUEUE, as attr.type = \"x\" -> orders");
    auto const condition = text::trimmed(text.substr(0, at));
    auto of = condition.starts_with('/') ? redrive::parse_where_body(condition) : redrive::parse_where(condition);
    if (!of) return of.error();
    redrive::target out;
    out.of = std::move(*of);
    out.url = queue;
    return out;
}

std::string time_text(std::chrono::seconds took)
{
    auto const s = took.count();
    if (s < 120) return fmt::format("{} s", s);
    if (s < 7'200) return fmt::format("{} min", s / 60);
    return fmt::format("{} h {} min", s / 3'600, s / 60 % 60);
}

} // namespace quern::app
