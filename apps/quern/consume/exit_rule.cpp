#include "consume/exit_rule.hpp"

#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/reading.hpp>

namespace quern::app {

using namespace quern::detail;

result<exit_statuses> exit_statuses::parse(std::string_view from)
{
    exit_statuses out;
    for (auto rest = from; !rest.empty();) {
        auto const part = text::trimmed(text::take_piece(rest, ','));
        auto const dash = part.find('-');
        auto const first = text::number_in<int>(part.substr(0, dash));
        auto const last = dash == part.npos ? first : text::number_in<int>(part.substr(dash + 1));
        if (!first || !last || *first < 1 || *last > 255 || *first > *last)
            return failure(errc::invalid_option,
                "must be exit statuses from 1 to 255, 65 or 70-75, several with commas between");
        for (int status = *first; status <= *last; ++status)
            out.holds_.set(static_cast<std::size_t>(status));
    }
    return out;
}

exit_meaning exit_rule::of(int status) const
{
    if (retry.contains(status)) return exit_meaning::retry;
    if (reject.contains(status)) return exit_meaning::reject;
    if (malformed.contains(status)) return exit_meaning::malformed;
    if (unavailable.contains(status)) return exit_meaning::unavailable;
    if (!sysexits) return exit_meaning::retry;
    switch (status) {
    case 65: return exit_meaning::malformed;
    case 67:
    case 77: return exit_meaning::reject;
    case 69:
    case 71: return exit_meaning::unavailable;
    default: return exit_meaning::retry;
    }
}

} // namespace quern::app
