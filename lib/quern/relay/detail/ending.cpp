#include <quern/relay/detail/ending.hpp>

#include <quern/core/detail/printable.hpp>
#include <quern/telemetry/instruments.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace quern::relay::detail {

using namespace quern::detail;

namespace {

void take_headers(ending& to, net::headers const& from)
{
    to.retry_after = from.find("retry-after");
    to.date = from.find("date");
    to.location = printable(std::string(from.find("location").substr(0, 200)));
}

reach how_far(net::web_hook_error const& e)
{
    if (e.fault == net::web_hook_fault::invalid_request) return reach::unbuildable;
    if (e.fault == net::web_hook_fault::busy) return reach::not_asked;
    if (e.status != 0) return reach::cut_off;
    return net::reach_of(e.fault) == net::web_hook_reach::nothing ? reach::not_sent : reach::unanswered;
}

} // namespace

bool was_cancelled(net::web_hook_result const& got)
{
    return got.has_error() && got.error().fault == net::web_hook_fault::cancelled;
}

ending ending_of(net::web_hook_result const& got)
{
    ending out;
    if (got) {
        out.status = got->status;
        take_headers(out, got->fields);
        return out;
    }
    auto const& e = got.error();
    out.how = how_far(e);
    out.status = e.status;
    out.error = describe(e.why);
    take_headers(out, e.fields);
    return out;
}

std::size_t counted_as(net::web_hook_result const& got)
{
    auto const& all = telemetry::values::web_hook;
    auto const place = [&](std::string_view name) { return std::ranges::find(all, name) - all.begin(); };
    auto const end = ending_of(got);
    auto out = place("other");
    if (was_cancelled(got)) {
        out = place("cancelled");
    } else if (end.how == reach::answered) {
        auto const digits = std::to_string(end.status);
        out = place(digits);
        if (all.size() == static_cast<std::size_t>(out) && digits.size() == 3)
            out = place(digits.substr(0, 1) + "xx");
        if (all.size() == static_cast<std::size_t>(out)) out = place("other");
    } else {
        out = place(end.how == reach::cut_off  ? "cut_off"
                : end.how == reach::unanswered ? "no_answer"
                : end.how == reach::not_asked  ? "not_asked"
                                               : "not_sent");
    }
    return static_cast<std::size_t>(out);
}

} // namespace quern::relay::detail
