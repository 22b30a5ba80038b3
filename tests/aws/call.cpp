#include "scripted_service.hpp"

#include <boost/test/unit_test.hpp>

namespace aws = quern::aws;
using namespace quern;
using namespace quern::test;
using namespace quern::aws::detail;

BOOST_FIXTURE_TEST_SUITE(call, scripted_service)

BOOST_AUTO_TEST_CASE(sends_a_signed_request_and_returns_the_answer)
{
    script = {reply(200, "", "{\"b\":2}")};
    auto const got = call();
    BOOST_REQUIRE(got.has_value());
    BOOST_TEST(got->body == "{\"b\":2}");
    BOOST_REQUIRE(asked.size() == 1u);
    BOOST_TEST(was_asked(0, "x-amz-target: AmazonSQS.SendMessage\r\n"));
    BOOST_TEST(was_asked(0, "host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n"));
    BOOST_TEST(was_asked(0, "Credential=AKID1/20260102/us-east-1/sqs/aws4_request"));
    BOOST_TEST(asked[0].ends_with("\r\n\r\n{\"a\":1}"));
    BOOST_TEST(time.waits.empty());
}

BOOST_AUTO_TEST_CASE(a_transient_error_is_retried_after_the_backoff_with_a_new_signature)
{
    time.elapsed = 980ms;
    script = {error(500, "InternalFailure"), "HTTP/1.1 503 X\r\ncontent-length: 4\r\n\r\nbusy", reply(200)};
    BOOST_TEST(call().has_value());
    BOOST_TEST(time.waits == (std::vector<nanoseconds>{50ms, 100ms}));
    BOOST_TEST(was_asked(0, "x-amz-date: 20260102T030405Z"));
    BOOST_TEST(was_asked(1, "x-amz-date: 20260102T030406Z"));
    BOOST_TEST(made().quota(net::lane::control).left() == 500 - 14);
}

BOOST_AUTO_TEST_CASE(throttling_waits_longer_and_the_services_hint_counts)
{
    script = {
        error(403, "RequestThrottled"), error(400, "ThrottlingException", "x-amz-retry-after: 3000\r\n"), reply(200)};
    BOOST_TEST(call().has_value());
    BOOST_TEST(time.waits == (std::vector<nanoseconds>{1s, 3s}));
}

BOOST_AUTO_TEST_CASE(after_the_last_attempt_the_error_is_returned)
{
    script = {error(500, "A"), error(500, "B"), error(500, "C")};
    auto const got = call();
    BOOST_REQUIRE(!got.has_value());
    BOOST_TEST(got.error().service_code == "C");
    BOOST_TEST(got.error().http_status == 500);
    BOOST_TEST(got.error().retryable);
    BOOST_TEST(asked.size() == 3u);
    BOOST_TEST(time.waits.size() == 2u);
}

BOOST_AUTO_TEST_CASE(an_error_of_the_request_is_returned_at_once)
{
    script = {error(400, "InvalidParameterValue")};
    auto const got = call();
    BOOST_REQUIRE(!got.has_value());
    BOOST_TEST(got.error().code == errc::service_error);
    BOOST_TEST(asked.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_connection_that_breaks_is_a_transient_error)
{
    script = {"", reply(200)};
    BOOST_TEST(call().has_value());
    BOOST_TEST(asked.size() == 2u);
    BOOST_TEST(time.waits == std::vector<nanoseconds>{50ms});
}

// The caller was told that nothing had been sent.
BOOST_AUTO_TEST_CASE(what_may_have_been_carried_out_is_not_forgotten_when_the_next_attempt_cannot_connect)
{
    script = {"gone"};
    auto const got = call();
    BOOST_REQUIRE(!got.has_value());
    BOOST_TEST(asked.size() == 1u);
    BOOST_TEST(got.error().code == errc::connection_lost);
    BOOST_TEST(got.error().message.find("connect") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(nor_is_it_forgotten_when_the_next_attempts_are_throttled)
{
    script = {"", error(400, "ThrottlingException"), error(400, "ThrottlingException", "", "too fast")};
    auto const got = call();
    BOOST_REQUIRE(!got.has_value());
    BOOST_TEST(asked.size() == 3u);
    BOOST_TEST(got.error().code == errc::connection_lost);
    BOOST_TEST(got.error().message.ends_with("; then too fast"));
}

BOOST_AUTO_TEST_CASE(a_batch_that_was_answered_with_a_500_is_sent_as_often_as_was_said_whatever_its_date)
{
    retries.max_attempts = 1;
    script = {error(500, "InternalFailure", "date: Fri, 02 Jan 2026 03:14:05 GMT\r\n"), reply(200)};
    BOOST_TEST(call().error().service_code == "InternalFailure");
    BOOST_TEST(asked.size() == 1u);
}

BOOST_AUTO_TEST_CASE(each_lane_spends_a_quota_of_its_own)
{
    retries.quota = 14;
    call_options poll;
    poll.via = net::lane::data;
    script = {error(500, "A"), error(500, "B"), error(500, "C"), reply(200)};
    BOOST_TEST(call(poll).error().service_code == "B"); // the quota is enough for one retry
    BOOST_TEST(made().quota(net::lane::data).left() == 0);
    BOOST_TEST(call().has_value());
    BOOST_TEST(asked.size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_long_poll_without_quota_waits_before_it_fails)
{
    retries.quota = 0;
    call_options poll;
    poll.long_poll = true;
    script = {error(500, "A"), error(500, "B")};
    BOOST_TEST(call(poll).error().service_code == "A");
    BOOST_TEST(time.waits == std::vector<nanoseconds>{50ms});
    BOOST_TEST(call().error().service_code == "B");
    BOOST_TEST(time.waits.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_wrong_clock_is_corrected_and_the_call_sent_again_at_once)
{
    script = {
        error(403, "InvalidSignatureException", an_hour_later, "Signature expired: 2026…"), reply(200), reply(200)};
    BOOST_TEST(call().has_value());
    BOOST_TEST(call().has_value());
    BOOST_TEST(was_asked(0, "x-amz-date: 20260102T030405Z"));
    BOOST_TEST(was_asked(1, "x-amz-date: 20260102T040405Z"));
    BOOST_TEST(was_asked(2, "x-amz-date: 20260102T040405Z"));
    BOOST_TEST(time.waits.empty());
}

BOOST_AUTO_TEST_CASE(the_services_clock_is_read_from_answers_of_any_kind)
{
    script = {reply(200, an_hour_later), error(400, "InvalidParameterValue", an_hour_later), reply(200)};
    BOOST_TEST(call().has_value());
    BOOST_TEST(made().theirs()->offset().count() == 0); // one may be odd
    BOOST_TEST(call().has_value());                     // signed anew
    BOOST_TEST(std::chrono::round<std::chrono::minutes>(made().theirs()->offset()).count() == 60);
}

BOOST_AUTO_TEST_CASE(a_clock_that_stays_wrong_ends_the_call_after_one_correction)
{
    auto const refused = error(403, "RequestTimeTooSkewed", an_hour_later);
    script = {refused, refused, reply(200)};
    BOOST_TEST(call().error().service_code == "RequestTimeTooSkewed");
    BOOST_TEST(asked.size() == 2u);
}

// A signature is good for 15 minutes.
BOOST_AUTO_TEST_CASE(what_waited_for_a_connection_is_signed_with_the_time_at_which_it_leaves)
{
    call_options poll;
    poll.via = net::lane::data;
    script = {"", reply(200)};
    retries.max_attempts = 1;
    play(io, [](scripted_service& my, call_options how) -> asio::awaitable<void> {
        auto const got = co_await my.made().call("ReceiveMessage", "{}", how);
        BOOST_TEST(got.error().code == make_error_code(errc::connection_lost));
        my.time.elapsed = 1h;
    }(*this, poll));
    BOOST_TEST(call(poll).has_value());
    BOOST_TEST(was_asked(0, "x-amz-date: 20260102T030405Z"));
    BOOST_TEST(was_asked(1, "x-amz-date: 20260102T040405Z"));
}

BOOST_AUTO_TEST_CASE(a_cancelled_backoff_ends_with_stopped)
{
    script = {error(500, "A"), reply(200)};
    auto const got = cancelled_call(time.stuck);
    BOOST_TEST(got.error().code == errc::stopped);
    BOOST_TEST(asked.size() == 1u);
}

BOOST_AUTO_TEST_CASE(options_that_cannot_work_are_refused_by_name)
{
    retries.max_attempts = 0;
    auto const names_it = [](boost::system::system_error const& e) {
        return std::string_view(e.what()).find("max_attempts") != std::string_view::npos;
    };
    BOOST_CHECK_EXCEPTION(made(), boost::system::system_error, names_it);
}

BOOST_AUTO_TEST_SUITE_END()
