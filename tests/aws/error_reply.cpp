#include <quern/aws/detail/error_reply.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::aws::detail;

namespace aws = quern::aws;
using quern::errc;

namespace {

using fields = std::vector<std::pair<std::string_view, std::string_view>>;

quern::failure decoded(int status, std::string_view body, fields const& list = {})
{
    quern::net::headers headers;
    for (auto const& [name, value] : list)
        headers.add(name, value);
    return decode_error(status, headers, body);
}

} // namespace

BOOST_AUTO_TEST_SUITE(error_reply)

BOOST_AUTO_TEST_CASE(an_answer_of_sqs_gives_the_query_code_the_fault_and_the_request_id)
{
    auto const why = decoded(400, R"({"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no such queue"})",
        {{"x-amzn-RequestId", "e5cca473"}, {"x-amzn-query-error", "AWS.SimpleQueueService.NonExistentQueue;Sender"}});
    BOOST_TEST(why.code == errc::service_error);
    BOOST_TEST(why.service_code == "AWS.SimpleQueueService.NonExistentQueue");
    BOOST_TEST(why.message == "no such queue");
    BOOST_TEST(why.request_id == "e5cca473");
    BOOST_TEST(why.http_status == 400);
    BOOST_TEST(why.sender_fault);
    BOOST_TEST(!why.retryable);
}

BOOST_AUTO_TEST_CASE(without_that_header_the_code_is_the_name_of_the_shape)
{
    BOOST_TEST(decoded(400, R"({"__type":"com.amazonaws.sqs#OverLimit"})").service_code == "OverLimit");
    BOOST_TEST(decoded(400, R"({"__type":"OverLimit:http://x/y#z"})").service_code == "OverLimit");
    BOOST_TEST(decoded(400, R"({"code":"OverLimit"})").service_code == "OverLimit");
    BOOST_TEST(decoded(400, R"({"code":"B","__type":"a#A"})").service_code == "A");
    BOOST_TEST(decoded(400, R"({"__type":"a#A","code":"B"})").service_code == "A");
    BOOST_TEST(decoded(400, "{}", {{"X-Amzn-Errortype", "a#FooError:http://x/"}}).service_code == "FooError");
    BOOST_TEST(decoded(400, "{}", {{"x-amzn-query-error", ";Sender"}}).service_code == "");
}

// ElasticMQ 1.7.1 puts the shape's full name there and no fault; a caller who compares codes found neither name of
// them.
BOOST_AUTO_TEST_CASE(that_header_counts_only_as_code_and_fault)
{
    auto const why = decoded(400, R"({"__type":"com.amazonaws.sqs#QueueDoesNotExist"})",
        {{"x-amzn-query-error", "com.amazonaws.sqs#QueueDoesNotExist"}});
    BOOST_TEST(why.service_code == "QueueDoesNotExist");
    BOOST_TEST(why.sender_fault);
}

// They moved the cursor of whoever read the error on a terminal, and forged lines of logs.
BOOST_AUTO_TEST_CASE(nothing_of_an_answer_commands_a_terminal)
{
    auto const why = decoded(400, R"({"__type":"a#Evil\u001b[2J","message":"no\rsuch\u0007\u009bthing"})",
        {{"x-amzn-RequestId",
            "e5\x9b"
            "31m"}});
    BOOST_TEST(why.service_code == "Evil [2J");
    BOOST_TEST(why.message == "no such  thing");
    BOOST_TEST(why.request_id == "e5?31m");
    BOOST_TEST(decoded(400, "{}", {{"x-amzn-query-error", "Evil\x9b;Sender"}}).service_code == "Evil?");
    BOOST_TEST(decoded(400, "{}", {{"x-amzn-errortype", "Evil\x9b"}}).service_code == "Evil?");
}

BOOST_AUTO_TEST_CASE(the_message_may_have_a_capital_letter_and_escapes)
{
    BOOST_TEST(decoded(400, R"({"Message":"a \"b\" \u00e4"})").message == "a \"b\" ä");
}

BOOST_AUTO_TEST_CASE(only_the_first_line_of_a_message_is_kept_because_the_rest_may_tell_secrets)
{
    auto const why = decoded(
        403, R"({"__type":"InvalidSignatureException","message":"does not match.\n\nx-amz-security-token:AQo"})");
    BOOST_TEST(why.message == "does not match.");
    BOOST_TEST(decoded(400, "{\"message\":\"" + std::string(100'000, 'x') + "\"}").message.size() == 2'000u);
}

BOOST_AUTO_TEST_CASE(without_a_stated_fault_the_status_tells_it)
{
    BOOST_TEST(decoded(400, "{}").sender_fault);
    BOOST_TEST(!decoded(500, "{}").sender_fault);
    BOOST_TEST(!decoded(400, "{}", {{"x-amzn-query-error", "Code;Receiver"}}).sender_fault);
}

BOOST_AUTO_TEST_CASE(throttling_is_told_apart_and_may_be_retried)
{
    auto const why = decoded(403, R"({"__type":"com.amazonaws.sqs#RequestThrottled","message":"Rate exceeded"})");
    BOOST_TEST(why.code == errc::throttled);
    BOOST_TEST(why.retryable);
}

BOOST_AUTO_TEST_CASE(a_page_that_is_not_json_gives_a_short_printable_excerpt)
{
    auto const why = decoded(503, "<html>\r\n\t<h1>Service\x01 Unavailable\xff</h1>" + std::string(1'000, 'x'));
    BOOST_TEST(why.code == errc::service_error);
    BOOST_TEST(why.service_code == "");
    BOOST_TEST(why.message.starts_with("<html> <h1>Service Unavailable </h1>xxx"));
    BOOST_TEST(why.message.size() == 203u);
    BOOST_TEST(why.retryable);
    BOOST_TEST(!why.sender_fault);
}

BOOST_AUTO_TEST_CASE(garbage_is_survived)
{
    for (auto const* const body : {"", " ", "{", "[]", "null", "\"x\"", "{\"__type\"",
             "{\"__type\":\"a#A\",\"x\":", "{\"__type\":", "{\"__type\":1,\"message\":[]}",
             "{\"message\":\"\\ud800\"}", "{\"a\":{\"__type\":\"x\"}}", "{\"__type\":\"\\", "\xff\xfe"}) {
        auto const why = decoded(400, body);
        BOOST_TEST(why.service_code == "", body);
        BOOST_TEST(why.http_status == 400, body);
    }
    BOOST_TEST(decoded(400, R"({"x":[1,{"y":2}],"__type":"a#A","z":null})").service_code == "A");
}

BOOST_AUTO_TEST_CASE(what_sqs_says_is_classified_as_the_sdks_do)
{
    using aws::detail::classify;
    using kind = aws::detail::error_kind;
    BOOST_TEST(classify(403, "RequestThrottled") == kind::throttling);
    BOOST_TEST(classify(400, "ThrottlingException") == kind::throttling);
    BOOST_TEST(classify(503, "SlowDown") == kind::throttling);
    BOOST_TEST(classify(500, "InternalFailure") == kind::transient);
    BOOST_TEST(classify(400, "RequestTimeout") == kind::transient);
    BOOST_TEST(classify(501, "") == kind::final);
    for (auto const* const code : {"", "Unheard", "GatewayLimit"})
        BOOST_TEST(classify(429, code) == kind::throttling, code);
    for (auto const* const code : {"OverLimit", "KMS.ThrottlingException", "InvalidParameterValue", ""}) {
        BOOST_TEST(classify(400, code) == kind::final, code);
    }
}

BOOST_AUTO_TEST_CASE(expired_credentials_are_known_by_their_codes)
{
    BOOST_TEST(says_expired_credentials("ExpiredToken"));
    BOOST_TEST(says_expired_credentials("ExpiredTokenException"));
    BOOST_TEST(!says_expired_credentials("InvalidClientTokenId"));
    BOOST_TEST(!says_expired_credentials(""));
}

BOOST_AUTO_TEST_SUITE_END()
