#include <quern/consumer/detail/intake/patience.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

failure refused(std::string code = "AccessDenied")
{
    failure out(errc::service_error, "no");
    out.service_code = std::move(code);
    return out;
}

failure lost()
{
    return failure(errc::connection_lost, "lost", true);
}

enum class what { refused, lost, answered };

struct event {
    std::chrono::seconds at;
    what is;
};

/// When it gives up, in seconds; -1: not at all.
std::int64_t gives_up(patience rule, std::vector<event> const& events)
{
    for (auto const& e : events) {
        if (e.is == what::answered) rule.answered();
        if (e.is == what::answered) continue;
        auto const why = e.is == what::refused ? refused() : lost();
        if (rule.failed(why, tick() + e.at)) return e.at.count();
    }
    return -1;
}

} // namespace

BOOST_AUTO_TEST_SUITE(patience_rule)

BOOST_AUTO_TEST_CASE(a_refusal_is_what_no_repetition_changes)
{
    for (auto const* code : {"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist", "AccessDenied",
             "AccessDeniedException", "KMS.AccessDeniedException", "InvalidClientTokenId",
             "UnrecognizedClientException", "SignatureDoesNotMatch", "InvalidSignatureException", "ExpiredToken",
             "ExpiredTokenException", "InvalidAddress"})
        BOOST_TEST(is_refusal(refused(code)), code);
    for (auto const* code : {"", "InternalError", "RequestThrottled", "ServiceUnavailable", "OverLimit",
             "ReceiptHandleIsInvalid", "InvalidParameterValue", "KMS.ThrottlingException"})
        BOOST_TEST(!is_refusal(refused(code)), code);
    BOOST_TEST(is_refusal(failure(errc::no_credentials, "none")));
    BOOST_TEST(!is_refusal(failure(errc::no_credentials, "they may come", true)));
    for (auto const code :
        {errc::timed_out, errc::connect_failed, errc::tls_failed, errc::bad_reply, errc::throttled})
        BOOST_TEST(!is_refusal(failure(code, "no")));
    auto renewed = refused("ExpiredToken");
    renewed.retryable = true; // others are on their way
    BOOST_TEST(!is_refusal(renewed));
}

BOOST_AUTO_TEST_CASE(it_gives_up_when_receives_were_refused_for_long_enough)
{
    using enum what;
    patience::limit const never, at_once = 0s, minute = 60s;
    struct {
        char const* about;
        patience rule;
        std::vector<event> events;
        std::int64_t wanted;
    } const cases[] = {
        {"never, by default", {never, never}, {{0s, refused}, {10'000'000s, refused}}, -1},
        {"after a minute of it", {minute, never}, {{0s, answered}, {5s, refused}, {64s, refused}, {65s, refused}},
            65},
        {"at once where the limit is zero", {at_once, never}, {{0s, answered}, {5s, refused}}, 5},
        {"never for other failures", {at_once, at_once}, {{0s, lost}, {1'000s, lost}}, -1},
        {"an answer begins it anew", {minute, never},
            {{0s, refused}, {50s, answered}, {70s, refused}, {129s, refused}, {130s, refused}}, 130},
        {"half of them answered: it can work", {minute, never},
            {{0s, refused}, {20s, answered}, {40s, refused}, {60s, answered}, {80s, refused}, {100s, answered},
                {120s, refused}},
            -1},
        {"another failure does not end it", {minute, never}, {{0s, refused}, {30s, lost}, {60s, refused}}, 60},
        {"nor is it the last straw", {minute, never}, {{0s, refused}, {600s, lost}}, -1},
        {"from the beginning, at once", {never, at_once}, {{3s, refused}}, 3},
        {"from the beginning, also after others", {never, at_once}, {{0s, lost}, {3s, refused}}, 3},
        {"later, never", {never, at_once}, {{0s, answered}, {3s, refused}, {10'000s, refused}}, -1},
        {"at the start as later unless told otherwise", {minute, never}, {{0s, refused}, {60s, refused}}, 60},
        {"the start may be given more time", {at_once, minute}, {{0s, refused}, {59s, refused}, {60s, refused}}, 60},
    };
    for (auto const& c : cases)
        BOOST_TEST(gives_up(c.rule, c.events) == c.wanted, c.about);
}

BOOST_AUTO_TEST_CASE(it_tells_since_when)
{
    patience rule({}, {});
    BOOST_TEST(!rule.refused_since().has_value());
    rule.failed(lost(), tick() + 1s);
    BOOST_TEST(!rule.refused_since().has_value());
    rule.failed(refused(), tick() + 2s);
    rule.failed(refused(), tick() + 3s);
    BOOST_TEST(rule.refused_since() == tick() + 2s);
    rule.answered();
    BOOST_TEST(!rule.refused_since().has_value());
}

BOOST_AUTO_TEST_CASE(a_client_that_is_closed_is_the_end_and_one_receive_that_was_cancelled_is_not)
{
    patience rule({}, {});
    failure const stopped(errc::stopped, "closed");
    BOOST_TEST(!rule.failed(stopped, tick()));
    BOOST_TEST(!rule.failed(stopped, tick()));
    rule.answered();
    BOOST_TEST(!rule.failed(stopped, tick()));
    BOOST_TEST(!rule.failed(stopped, tick()));
    BOOST_TEST(!rule.failed(lost(), tick()));
    BOOST_TEST(!rule.failed(stopped, tick()));
    BOOST_TEST(!rule.failed(stopped, tick()));
    BOOST_TEST(rule.failed(stopped, tick()));
}

BOOST_AUTO_TEST_SUITE_END()
