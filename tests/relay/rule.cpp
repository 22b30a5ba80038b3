// The whole table of what becomes of a message: docs/design/relay.md shows it.

#include <quern/relay/rule.hpp>

#include <quern/core/detail/text/date.hpp>

#include <boost/test/unit_test.hpp>

#include <ostream>

namespace quern::relay {

std::ostream& operator<<(std::ostream& to, action a)
{
    constexpr char const* names[] = {"ack", "retry", "reject", "unavailable", "halt"};
    return to << names[static_cast<int>(a)];
}
std::ostream& operator<<(std::ostream& to, news n)
{
    constexpr char const* names[] = {"good", "none", "bad", "down"};
    return to << names[static_cast<int>(n)];
}

} // namespace quern::relay

using namespace quern::relay;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

auto const now = *quern::detail::text::parse_rfc3339("2026-03-01T12:00:00Z");

ending status(int code, std::string retry_after = {})
{
    ending out;
    out.status = code;
    out.retry_after = std::move(retry_after);
    return out;
}

ending broken(reach how, int code = 0)
{
    auto out = status(code);
    out.how = how;
    out.error = "it broke";
    return out;
}

ending with_body(int code, body_says what)
{
    auto out = status(code);
    out.body = what;
    return out;
}

decision decide(ending const& end, rules const& by = {}, milliseconds left = 12h)
{
    return by.decide(end, now, left);
}

constexpr milliseconds backoff{-1}; // "by the backoff", in a table

struct row {
    ending end;
    action what;
    news about;
    milliseconds after = backoff;
};

void check(std::initializer_list<row> table, rules const& by = {})
{
    for (auto const& r : table) {
        BOOST_TEST_CONTEXT("HTTP " << r.end.status << ' ' << r.end.retry_after << ' ' << static_cast<int>(r.end.how))
        {
            auto const out = decide(r.end, by);
            BOOST_TEST(out.what == r.what);
            BOOST_TEST(out.about_service == r.about);
            BOOST_TEST(out.after.value_or(backoff).count() == r.after.count());
            BOOST_TEST(!out.reason.empty());
        }
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(relay_rule)

BOOST_AUTO_TEST_CASE(each_status_has_its_meaning)
{
    check({
        {status(200), action::ack, news::good},
        {status(204), action::ack, news::good},
        {status(226), action::ack, news::good},
        {status(100), action::retry, news::bad},
        {status(301), action::retry, news::bad},
        {status(304), action::retry, news::bad},
        {status(400), action::retry, news::none},
        {status(401), action::unavailable, news::down},
        {status(403), action::unavailable, news::down},
        {status(404), action::retry, news::none},
        {status(407), action::unavailable, news::down},
        {status(408), action::retry, news::none},
        {status(409), action::retry, news::none},
        {status(410), action::unavailable, news::down},
        {status(413), action::retry, news::none},
        {status(422), action::retry, news::none},
        {status(425), action::retry, news::none},
        {status(429), action::retry, news::none},
        {status(429, "7"), action::retry, news::none, 7s},
        {status(500), action::retry, news::bad},
        {status(501, "9"), action::retry, news::bad},
        {status(502), action::unavailable, news::down},
        {status(503), action::unavailable, news::down},
        {status(503, "30"), action::retry, news::bad, 30s},
        {status(504), action::unavailable, news::down},
        {status(599), action::retry, news::bad},
    });
}

BOOST_AUTO_TEST_CASE(what_broke_is_judged_by_how_far_it_came)
{
    check({
        {broken(reach::not_sent), action::unavailable, news::down},
        {broken(reach::not_asked), action::retry, news::none},
        {broken(reach::unanswered), action::retry, news::down},
        {broken(reach::cut_off, 200), action::ack, news::good},
        {broken(reach::cut_off, 404), action::retry, news::none},
        {broken(reach::cut_off, 500), action::retry, news::bad},
        {broken(reach::cut_off, 502), action::unavailable, news::down},
        {broken(reach::unbuildable), action::reject, news::none},
    });
    BOOST_TEST(decide(broken(reach::unanswered)).maybe_done);
    BOOST_TEST(decide(broken(reach::cut_off, 200)).reason == "HTTP 200, it broke, which nobody reads");
    BOOST_TEST(!decide(broken(reach::cut_off, 404)).maybe_done);
    BOOST_TEST(!decide(broken(reach::not_sent)).maybe_done);
    BOOST_TEST(!decide(broken(reach::not_asked)).maybe_done);
    BOOST_TEST(decide(broken(reach::unbuildable)).reason == "template: it broke");
}

BOOST_AUTO_TEST_CASE(a_body_that_has_a_say_can_only_take_a_success_back)
{
    check({
        {with_body(200, body_says::failed), action::retry, news::none},
        {with_body(200, body_says::error), action::retry, news::bad},
        {with_body(200, body_says::unreadable), action::retry, news::none},
        {with_body(500, body_says::unreadable), action::retry, news::bad},
        {with_body(404, body_says::failed), action::retry, news::none},
    });
    rules by;
    by.lines = {{status_set("200"), action::ack, "done", {}}};
    BOOST_TEST(decide(with_body(200, body_says::nothing), by).what == action::ack);
    for (auto const said : {body_says::failed, body_says::error, body_says::unreadable})
        BOOST_TEST(decide(with_body(200, said), by).what == action::retry);
    by.lines = {{status_set("404"), action::ack, "gone", {}}};
    BOOST_TEST(decide(with_body(404, body_says::unreadable), by).what == action::ack); // a page
    BOOST_TEST(decide(with_body(404, body_says::failed), by).what == action::retry);
}

BOOST_AUTO_TEST_CASE(a_429_that_the_user_calls_an_outage_is_one)
{
    rules by;
    by.unavailable = status_set("429");
    check({{status(429), action::unavailable, news::down}, {status(429, "7"), action::retry, news::none, 7s}}, by);
}

BOOST_AUTO_TEST_CASE(a_retry_that_no_rule_expects_to_help_is_known_as_such)
{
    for (int const code : {400, 404, 405, 409, 413, 415, 422, 451})
        BOOST_TEST(decide(status(code)).in_vain, code);
    for (int const code : {301, 408, 425, 429, 500, 599})
        BOOST_TEST(!decide(status(code)).in_vain, code);
    rules by;
    by.retry = status_set("408,404");
    BOOST_TEST(!decide(status(404), by).in_vain);
}

BOOST_AUTO_TEST_CASE(retry_after_is_seconds_a_fraction_or_a_date)
{
    struct {
        char const* text;
        milliseconds delay; // backoff: none
    } const table[] = {{"1", 1s}, {"120", 120s}, {"1.5", 1'500ms}, {"0.0001", 1ms}, {".5", 500ms}, {"0", backoff},
        {"0.0", backoff}, {"-5", backoff}, {"", backoff}, {" 5", backoff}, {"5s", backoff}, {"nan", backoff},
        {"inf", backoff}, {"1e3", backoff}, {"+5", backoff}, {"0x10", backoff}, {"50000", 50'000s},
        {"99999999999999999999", 1'000'000'000s}, {"Sun, 01 Mar 2026 12:01:00 GMT", 60s},
        {"Sun, 01 Mar 2026 11:59:00 GMT", backoff}, {"Sun, 01 Mar 2026 12:00:00 GMT", backoff},
        {"tomorrow", backoff}};
    for (auto const& row : table)
        BOOST_TEST(asked_delay(row.text, "", now).value_or(backoff).count() == row.delay.count(), row.text);
}

BOOST_AUTO_TEST_CASE(a_date_is_compared_with_the_answers_own_clock)
{
    std::string const at = "Sun, 01 Mar 2026 12:01:00 GMT";
    BOOST_TEST(asked_delay(at, "Sun, 01 Mar 2026 12:00:55 GMT", now).value().count() == 5'000);
    BOOST_TEST(asked_delay(at, "Sun, 01 Mar 2026 10:01:00 GMT", now).value().count() == 7'200'000);
    BOOST_TEST(!asked_delay(at, "Sun, 01 Mar 2026 12:01:00 GMT", now));
    BOOST_TEST(asked_delay(at, "no date", now).value().count() == 60'000);
}

BOOST_AUTO_TEST_CASE(no_delay_goes_beyond_what_is_left_of_the_receive)
{
    BOOST_TEST(decide(status(429, "50000"), {}, 12h).after.value().count() == milliseconds(12h).count());
    BOOST_TEST(decide(status(429, "50000"), {}, 5min).after.value().count() == milliseconds(5min).count());
    BOOST_TEST(decide(status(429, "5"), {}, -1s).after.value().count() == 0);
    BOOST_TEST(decide(status(429, "99999999999999999999")).after.value().count() == milliseconds(12h).count());
}

BOOST_AUTO_TEST_CASE(a_retry_after_that_says_nothing_leaves_the_status_its_meaning)
{
    check({
        {status(429, "0"), action::retry, news::none},
        {status(429, "-1"), action::retry, news::none},
        {status(503, "0"), action::unavailable, news::down},
        {status(503, "soon"), action::unavailable, news::down},
        {status(500, "60"), action::retry, news::bad},
    });
}

BOOST_AUTO_TEST_CASE(the_first_line_that_matches_wins)
{
    rules by;
    by.lines = {
        {status_set("409"), action::ack, "", {}},
        {status_set("4xx"), action::reject, "invalid", {}},
        {status_set("404"), action::ack, "", {}},
        {status_set("503"), action::retry, "", 5min},
        {status_set("429"), action::retry, "", {}},
        {status_set("500"), action::halt, "broken", {}},
        {status_set("202"), action::retry, "not done", 2s},
    };
    check(
        {
            {status(409), action::ack, news::good},
            {status(404), action::reject, news::none},
            {status(503, "7"), action::retry, news::bad, 5min},
            {status(500), action::halt, news::none},
            {status(202), action::retry, news::none, 2s},
            {status(200), action::ack, news::good},
            {broken(reach::cut_off, 409), action::ack, news::good},
            {broken(reach::cut_off, 404), action::reject, news::none},
        },
        by);
    by.needs_body = true;
    check({{broken(reach::cut_off, 409), action::retry, news::none},
              {broken(reach::cut_off, 404), action::reject, news::none}},
        by);
    BOOST_TEST(decide(status(404), by).reason == "invalid (HTTP 404)");
    by.lines.erase(by.lines.begin() + 1);
    check({{status(429, "7"), action::retry, news::none, 7s}, {status(429), action::retry, news::none}}, by);
}

BOOST_AUTO_TEST_CASE(the_sets_can_be_chosen)
{
    rules by;
    by.success = status_set("200");
    by.reject = status_set("422,503");
    by.unavailable = status_set("");
    check(
        {
            {status(204), action::retry, news::none},
            {status(422), action::reject, news::none},
            {status(503, "9"), action::reject, news::none},
            {status(502), action::retry, news::bad},
            {status(401), action::retry, news::none},
        },
        by);
}

BOOST_AUTO_TEST_CASE(a_usual_delay_takes_the_place_of_the_backoff)
{
    rules by;
    by.usual_delay = 2s;
    check(
        {
            {status(500), action::retry, news::bad, 2s},
            {status(404), action::retry, news::none, 2s},
            {status(429, "7"), action::retry, news::none, 7s},
            {broken(reach::unanswered), action::retry, news::down, 2s},
            {status(200), action::ack, news::good},
        },
        by);
}

// A service that had said 200 was asked again until its message was dead.
BOOST_AUTO_TEST_CASE(a_success_whose_body_broke_off_is_tried_again_only_where_somebody_reads_it)
{
    rules by;
    by.needs_body = true;
    check({{broken(reach::cut_off, 200), action::retry, news::none}}, by);
    BOOST_TEST(decide(broken(reach::cut_off, 200), by).maybe_done);
}

BOOST_AUTO_TEST_CASE(a_delay_that_an_answer_asks_for_has_a_limit)
{
    rules by;
    by.longest_asked = 1min;
    check({{status(429, "7"), action::retry, news::none, 7s},
              {status(429, "99999999999"), action::retry, news::none, 1min},
              {status(503, "3600"), action::retry, news::bad, 1min}},
        by);
    by.lines = {{status_set("429"), action::retry, "", {}}};
    check({{status(429, "3600"), action::retry, news::none, 1min}}, by);
}

BOOST_AUTO_TEST_CASE(a_rule_has_its_own_backoff_and_its_own_number_of_tries)
{
    rules by;
    by.usual_delay = 2s;
    rule_line slow{status_set("409"), action::retry, "", {}};
    slow.by = quern::policy::backoff::fixed({10s});
    slow.tries = 4;
    by.lines = {slow};
    auto const out = decide(status(409), by);
    BOOST_TEST(!out.after.has_value());
    BOOST_TEST(out.by.has_value());
    BOOST_TEST(out.tries.value_or(0) == 4);
    BOOST_TEST(!decide(status(500), by).by.has_value());
}

BOOST_AUTO_TEST_CASE(a_redirect_says_where_it_would_have_led)
{
    auto end = status(303);
    end.location = "https://elsewhere/";
    BOOST_TEST(decide(end).reason == "HTTP 303, not followed to https://elsewhere/");
    BOOST_TEST(decide(status(303)).reason == "HTTP 303, not followed");
    BOOST_TEST(decide(status(410)).reason == "HTTP 410, the endpoint is gone");
}

BOOST_AUTO_TEST_SUITE_END()
