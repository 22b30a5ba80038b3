#include <quern/aws/clock_skew.hpp>
#include <quern/aws/date.hpp>

#include <algorithm>
#include <array>

namespace quern::aws {
namespace {

bool blames_the_clock(failure const& why)
{
    static constexpr std::array<std::string_view, 4> codes{
        "RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture", "RequestTimeTooSkewedException"};
    static constexpr std::array<std::string_view, 2> signature{"InvalidSignatureException", "SignatureDoesNotMatch"};
    if (std::find(codes.begin(), codes.end(), why.service_code) != codes.end()) return true;
    return std::find(signature.begin(), signature.end(), why.service_code) != signature.end() &&
        (why.message.starts_with("Signature expired") || why.message.starts_with("Signature not yet current"));
}

} // namespace

bool clock_skew::learn(failure const& why, std::string_view date_header, wall_time now)
{
    constexpr std::chrono::minutes tolerated{4};
    auto const theirs = parse_http_date(date_header);
    if (!theirs) return false;
    auto const wrong_by = std::chrono::abs(*theirs - corrected(now));
    auto const is_blamed = blames_the_clock(why);
    if (wrong_by < tolerated && !is_blamed) return false;
    is_blamed_ = is_blamed_ || is_blamed;
    offset_ = std::chrono::round<std::chrono::seconds>(*theirs - now);
    return true;
}

} // namespace quern::aws
