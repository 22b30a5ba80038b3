#include <quern/aws/clock_skew.hpp>
#include <quern/core/detail/text/date.hpp>

#include <algorithm>
#include <array>

namespace quern::aws {

using namespace quern::detail;

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

/// Nothing was carried out, and the same request will be refused again. 408 and 429 pass; gateways say them as well.
bool is_final_refusal(failure const& why)
{
    constexpr int request_timeout = 408, too_many_requests = 429;
    bool const passes = why.retryable || why.code == errc::throttled || why.http_status == request_timeout ||
        why.http_status == too_many_requests;
    return why.http_status >= 400 && why.http_status < 500 && !passes;
}

constexpr std::chrono::minutes tolerated{4};
constexpr std::chrono::hours believable{24};

} // namespace

bool clock_skew::learn(failure const& why, std::string_view date_header, wall_time now)
{
    auto const theirs = text::parse_http_date(date_header);
    if (!theirs || std::chrono::abs(*theirs - now) > believable) return false;
    auto const wrong_by = std::chrono::abs(*theirs - corrected(now));
    auto const is_blamed = blames_the_clock(why);
    // What may have been carried out, or passes, is for the rule of retries; and its Date may be of a gateway.
    if (!is_blamed && (wrong_by < tolerated || !is_final_refusal(why))) return false;
    is_blamed_ = is_blamed_ || is_blamed;
    offset_ = std::chrono::round<std::chrono::seconds>(*theirs - now);
    return true;
}

std::string clock_skew::doubt(failure const& why, std::string_view date_header, wall_time now)
{
    auto const theirs = text::parse_http_date(date_header);
    if (!theirs || std::chrono::abs(*theirs - now) <= believable || !blames_the_clock(why)) return {};
    return " (its Date, " + text::rfc3339(*theirs) +
        ", is more than a day from this machine's clock and not believed)";
}

void service_clock::look(std::string_view date_header, wall_time wall, tick now)
{
    using std::chrono::milliseconds;
    next_look_ = now + std::chrono::minutes(1);
    last_look_ = now;
    wall_at_look_ = wall;
    auto const theirs = text::parse_http_date(date_header);
    if (!theirs || std::chrono::abs(*theirs - wall) > believable) return;
    auto const read =
        std::chrono::round<milliseconds>(*theirs + milliseconds(500) - wall); // they leave out the fraction
    auto const differs_from = [&](milliseconds other, milliseconds by) {
        return std::chrono::abs(read - other) > by;
    };
    auto const expected = unconfirmed_.value_or(offset());
    if (differs_from(offset(), tolerated) && differs_from(expected, std::chrono::seconds(2))) {
        unconfirmed_ = read;
        next_look_ = now;
        return;
    }
    unconfirmed_.reset();
    if (differs_from(offset(), std::chrono::seconds(1))) offset_.store(read.count(), std::memory_order_relaxed);
}

} // namespace quern::aws
