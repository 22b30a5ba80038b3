#include <quern/relay/rule.hpp>

#include <quern/core/detail/text/date.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace quern::relay {

using namespace quern::detail;

namespace {

using milliseconds = std::chrono::milliseconds;

std::string status_text(int status)
{
    return "HTTP " + std::to_string(status);
}

/// News that a status is about the service, when the message is retried.
news news_of_retried(int status)
{
    return status >= 300 && status < 400 ? news::bad : status >= 500 ? news::bad : news::none;
}

news news_of(action what, int status)
{
    switch (what) {
    case action::ack: return news::good;
    case action::unavailable: return news::down;
    case action::retry: return news_of_retried(status);
    case action::reject:
    case action::halt: break;
    }
    return news::none;
}

decision retried(news about, std::string reason)
{
    decision out;
    out.about_service = about;
    out.reason = std::move(reason);
    return out;
}

/// No status, or one that says nothing because the answer is not whole.
decision without_answer(ending const& end)
{
    switch (end.how) {
    case reach::not_sent: {
        auto out = retried(news::down, end.error);
        out.what = action::unavailable;
        return out;
    }
    case reach::not_asked: return retried(news::none, end.error);
    case reach::cut_off: {
        auto out = retried(news::none, status_text(end.status) + ", " + end.error);
        out.maybe_done = true;
        return out;
    }
    case reach::unbuildable: {
        auto out = retried(news::none, "template: " + end.error);
        out.what = action::reject;
        out.is_unbuildable = true;
        return out;
    }
    default: break;
    }
    auto out = retried(news::down, end.error + "; the request may have been carried out");
    out.maybe_done = true;
    return out;
}

decision by_body(ending const& end)
{
    switch (end.body) {
    case body_says::error: return retried(news::bad, "the function failed: " + end.error);
    case body_says::unreadable: return retried(news::none, "the answer cannot be read: " + end.error);
    default: return retried(news::none, "the answer names it among the failures");
    }
}

std::optional<milliseconds> asked_delay_of(ending const& end, wall_time now, milliseconds longest)
{
    bool const may_ask = end.status == 429 || end.status == 503;
    auto out = may_ask ? asked_delay(end.retry_after, end.date, now) : std::nullopt;
    if (out) out = std::min(*out, longest);
    return out;
}

decision by_line(rule_line const& line, ending const& end, wall_time now, milliseconds longest)
{
    decision out;
    out.what = line.what;
    if (line.what == action::retry) {
        out.after = line.after || line.by ? line.after : asked_delay_of(end, now, longest);
        out.by = line.by;
        out.tries = line.tries;
    }
    out.about_service = news_of(line.what, end.status);
    out.reason = line.reason.empty() ? status_text(end.status) : line.reason + " (" + status_text(end.status) + ")";
    return out;
}

decision asked_to_wait(ending const& end, milliseconds delay)
{
    auto out = retried(end.status == 503 ? news::bad : news::none, status_text(end.status) + ", it asks for time");
    out.after = delay;
    return out;
}

decision by_status(rules const& r, ending const& end)
{
    auto out = retried(news_of_retried(end.status), status_text(end.status));
    if (end.status < 200) out.about_service = news::bad;
    if (end.status >= 300 && end.status < 400)
        out.reason += end.location.empty() ? ", not followed" : ", not followed to " + end.location;
    if (r.reject.contains(end.status)) {
        out.what = action::reject;
        out.about_service = news::none;
    } else if (r.unavailable.contains(end.status)) {
        out.what = action::unavailable;
        out.about_service = news::down;
        if (end.status == 410) out.reason += ", the endpoint is gone";
    } else {
        out.in_vain = end.status >= 400 && !r.retry.contains(end.status);
    }
    return out;
}

} // namespace

std::optional<milliseconds> asked_delay(std::string const& retry_after, std::string const& date, wall_time now)
{
    constexpr double most = 1e9; // seconds; what is beyond is cut later
    double seconds = 0;
    auto const* const last = retry_after.data() + retry_after.size();
    auto const [end, ec] = std::from_chars(retry_after.data(), last, seconds, std::chars_format::fixed);
    // "inf" and "nan" are numbers to it, too.
    if (end == last && retry_after.find_first_not_of("-.0123456789") == retry_after.npos && !retry_after.empty()) {
        if (ec == std::errc::result_out_of_range) return {};
        if (!(seconds > 0)) return {};
        return milliseconds(static_cast<std::int64_t>(std::ceil(std::min(seconds, most) * 1000)));
    }
    auto const at = text::parse_http_date(retry_after);
    if (!at) return {};
    auto const delay = *at - text::parse_http_date(date).value_or(now);
    if (delay.count() <= 0) return {};
    return std::chrono::ceil<milliseconds>(delay);
}

decision rules::decide_by_status(ending const& end, wall_time now) const
{
    for (auto const& line : lines) {
        if (!line.status.contains(end.status)) continue;
        // "404 is done" says nothing of a page that is no lambda's answer.
        bool const says_nothing =
            end.body == body_says::nothing || (end.body == body_says::unreadable && !success.contains(end.status));
        bool const taken_back = line.what == action::ack && !says_nothing;
        return taken_back ? by_body(end) : by_line(line, end, now, longest_asked);
    }
    if (success.contains(end.status)) {
        if (end.body != body_says::nothing) return by_body(end);
        decision out;
        out.what = action::ack;
        out.about_service = news::good;
        out.reason = status_text(end.status);
        return out;
    }
    auto const delay = asked_delay_of(end, now, longest_asked);
    if (delay && !reject.contains(end.status)) return asked_to_wait(end, *delay);
    return by_status(*this, end);
}

decision rules::decide(ending const& end, wall_time now, milliseconds receive_left) const
{
    bool const has_status = end.how == reach::answered || end.how == reach::cut_off;
    auto out = has_status ? decide_by_status(end, now) : without_answer(end);
    if (end.how == reach::cut_off && out.what == action::ack) {
        if (needs_body)
            out = without_answer(end);
        else
            out.reason += ", " + end.error + ", which nobody reads";
    }
    if (out.what == action::retry && !out.after && !out.by) out.after = usual_delay;
    if (out.after) out.after = std::clamp(*out.after, milliseconds(0), std::max(receive_left, milliseconds(0)));
    return out;
}

} // namespace quern::relay
