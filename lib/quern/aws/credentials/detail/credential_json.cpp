#include <quern/aws/credentials/detail/credential_json.hpp>
#include <quern/core/detail/printable.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/core/detail/text/reading.hpp>
#include <quern/core/simdjson.hpp>

namespace quern::aws::detail {

using namespace quern::detail;

namespace {

namespace dom = simdjson::dom;

failure broken(std::string_view whose, std::string const& what)
{
    return failure(errc::no_credentials, std::string(whose) + ": " + what);
}

/// One line that may stand in a log.
std::string one_line(std::string text)
{
    constexpr std::size_t longest = 200;
    if (text.size() > longest) text.resize(longest);
    return printable(std::move(text));
}

} // namespace

std::optional<wall_time> end_in(std::string_view text)
{
    auto const number = text::number_in<std::int64_t>(text);
    if (!number) return text::parse_rfc3339(text);
    if (*number < 0) return {};
    constexpr std::int64_t least_milliseconds = 100'000'000'000; // early in 1973; as seconds, the year 5138
    std::chrono::milliseconds const since(*number < least_milliseconds ? *number * 1'000 : *number);
    auto const last = std::chrono::floor<std::chrono::milliseconds>(text::last_moment.time_since_epoch());
    return wall_time(std::min(since, last));
}

std::optional<section> read_flat_json(std::string_view text, std::string_view inside)
{
    dom::parser parser;
    dom::object object;
    simdjson::padded_string const padded(text);
    if (parser.parse(padded).get(object)) return {};
    if (!inside.empty() && object[inside].get(object)) return {};
    section out;
    for (auto const member : object) {
        std::string_view said;
        std::int64_t number = 0;
        auto const name = text::lower_case(member.key);
        if (!member.value.get(said))
            out.values[name] = said;
        else if (!member.value.get(number))
            out.values[name] = std::to_string(number);
    }
    return out;
}

result<credentials> credentials_in(section const& object, std::string_view whose)
{
    auto const code = object.get("code");
    if (!code.empty() && code != "Success") return broken(whose, one_line(code + ' ' + object.get("message")));
    credentials found{object.get("accesskeyid"), object.get("secretaccesskey"), object.get("sessiontoken")};
    if (found.session_token.empty()) found.session_token = object.get("token");
    found.account_id = object.get("accountid");
    if (auto const flaw = flaw_of(found)) return broken(whose, *flaw);
    if (auto const end = object.get("expiration"); !end.empty()) {
        found.expires_at = end_in(end);
        if (!found.expires_at) return broken(whose, "the expiration is not a time like 2026-01-02T03:04:05Z");
    }
    return found;
}

result<credentials> credentials_in_json(std::string_view text, std::string_view whose, std::string_view inside)
{
    auto const object = read_flat_json(text, inside);
    if (!object) return broken(whose, "the answer is not a JSON object with credentials");
    return credentials_in(*object, whose);
}

} // namespace quern::aws::detail
