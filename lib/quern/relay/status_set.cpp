#include <quern/core/detail/text/reading.hpp>
#include <quern/relay/status_set.hpp>

#include <string>
#include <utility>

namespace quern::relay {

using namespace quern::detail;

namespace {

/// First and last of "404", "4xx" or "502-504"; the first is 0 when it is none of these.
std::pair<int, int> range_of(std::string_view text)
{
    auto const number = [](std::string_view digits) {
        auto const out = digits.size() == 3 ? text::number_in<int>(digits) : std::nullopt;
        return out && *out >= 100 ? *out : 0;
    };
    if (text.size() == 3 && text.ends_with("xx") && text[0] >= '1' && text[0] <= '5')
        return {(text[0] - '0') * 100, (text[0] - '0') * 100 + 99};
    auto const dash = text.find('-');
    auto const first = number(text.substr(0, dash));
    auto const last = dash == text.npos ? first : number(text.substr(dash + 1));
    return {last >= first && last < 600 ? first : 0, last};
}

} // namespace

result<status_set> status_set::parse(std::string_view text)
{
    status_set out;
    auto rest = text::trimmed(text);
    while (!rest.empty()) {
        auto const part = text::take_piece(rest, ',');
        auto const [first, last] = range_of(part);
        if (first == 0) {
            return failure(errc::invalid_option,
                "\"" + std::string(part) + "\" is no status: 404, 4xx or 502-504, several with commas between");
        }
        for (int status = first; status <= last; ++status)
            out.holds_.set(static_cast<std::size_t>(status));
    }
    return out;
}

} // namespace quern::relay
