#include <quern/aws/detail/signing/json_signer.hpp>
#include <quern/aws/detail/signing/verify.hpp>
#include <quern/net/message.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::aws::detail;

namespace aws = quern::aws;

namespace {

aws::credentials const keys{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
aws::credentials const temporary{"ASIAEXAMPLE", "secret", "AQoD//token=="};
quern::wall_time const now = *quern::detail::text::parse_timestamp("20260102T030405Z");
std::string const body = R"({"QueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/MyQueue"})";

json_target sqs()
{
    json_target target;
    target.host = "sqs.us-east-1.amazonaws.com";
    target.region = "us-east-1";
    return target;
}

/// A request text taken apart; views into it.
struct received {
    explicit received(std::string_view text)
    {
        auto const end = text.find("\r\n\r\n");
        auto head = text.substr(0, end + 2);
        view.body = text.substr(end + 4);
        auto const line = head.substr(0, head.find("\r\n"));
        version = line.substr(line.rfind(' ') + 1);
        view.method = line.substr(0, line.find(' '));
        view.target = line.substr(line.find(' ') + 1, line.rfind(' ') - line.find(' ') - 1);
        for (head.remove_prefix(line.size() + 2); !head.empty();) {
            auto const field = head.substr(0, head.find("\r\n"));
            auto const colon = field.find(": ");
            view.headers.push_back({field.substr(0, colon), field.substr(colon + 2)});
            head.remove_prefix(field.size() + 2);
        }
    }
    request_view view;
    std::string_view version;
};

/// The general signer's header for the same request.
std::string general_authorization(received const& request, aws::credentials const& who, json_target const& target)
{
    auto bare = request.view;
    std::erase_if(bare.headers, [](auto const& h) {
        return h.name == "x-amz-date" || h.name == "x-amz-security-token" || h.name == "content-length";
    });
    signing_keys cache;
    auto const made =
        sign(bare, who, {quern::detail::text::timestamp(now), target.region, target.service}, {}, cache);
    return made.added.back().second;
}

} // namespace

BOOST_AUTO_TEST_SUITE(json_signer)

BOOST_AUTO_TEST_CASE(writes_the_whole_request)
{
    aws::detail::json_signer signer(sqs());
    BOOST_TEST(signer.request("ReceiveMessage", body, keys, now) ==
        "POST / HTTP/1.1\r\n"
        "user-agent: quern\r\n"
        "host: sqs.us-east-1.amazonaws.com\r\n"
        "content-type: application/x-amz-json-1.0\r\n"
        "x-amz-target: AmazonSQS.ReceiveMessage\r\n"
        "x-amzn-query-mode: true\r\n"
        "content-length: 72\r\n"
        "x-amz-date: 20260102T030405Z\r\n"
        "authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/us-east-1/sqs/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date;x-amz-target;x-amzn-query-mode, "
        "Signature=7f176ed213f547176f6f697e145625b4fce13f5756cf61f0d9d42b1c0b314949\r\n"
        "\r\n" +
            body);
}

BOOST_AUTO_TEST_CASE(signs_as_the_general_signer_does)
{
    auto dynamo = sqs();
    dynamo.service = "dynamodb";
    dynamo.target_prefix = "DynamoDB_20120810";
    dynamo.query_compatible = false;
    auto behind_gateway = sqs();
    behind_gateway.host = "gateway.local:8443";
    behind_gateway.path = "/queues/a~b";
    auto parameters = sqs();
    parameters.service = "ssm";
    parameters.target_prefix = "AmazonSSM";
    parameters.version = json_version::v1_1;
    parameters.query_compatible = false;
    for (auto const& target : {sqs(), dynamo, parameters, behind_gateway}) {
        aws::detail::json_signer signer(target);
        for (auto const& who : {keys, temporary, keys}) {
            for (auto const* const operation : {"SendMessage", "DeleteMessage", "SendMessage"}) {
                auto const text = signer.request(operation, body, who, now);
                received const request(text);
                BOOST_TEST(request.view.header("authorization") == general_authorization(request, who, target));
                BOOST_TEST(request.view.header("x-amz-target") == target.target_prefix + '.' + operation);
                BOOST_TEST(request.view.header("content-type") == content_type(target.version));
                BOOST_TEST(request.view.header("x-amz-security-token") == who.session_token);
                BOOST_TEST(request.view.header("x-amzn-query-mode") == (target.query_compatible ? "true" : ""));
                BOOST_TEST(request.view.body == body);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_poll_is_the_request_that_it_would_be_whatever_was_asked_before_it)
{
    aws::credentials const others{"AKIDOTHER", keys.secret_access_key, ""};
    aws::credentials const changed{keys.access_key_id, "another secret", ""};
    auto const later = now + std::chrono::milliseconds(999); // within the second
    aws::detail::json_signer kept(sqs());
    for (auto const at : {now, later, now + std::chrono::seconds(1), now, now + std::chrono::hours(24)}) {
        for (auto const& who : {keys, keys, temporary, others, changed, keys}) {
            for (auto const* const operation : {"ReceiveMessage", "ReceiveMessage", "GetRecords"}) {
                for (std::string const& asked : {body, std::string("{}"), body}) {
                    aws::detail::json_signer fresh(sqs());
                    BOOST_TEST(kept.poll(operation, asked, who, at) == fresh.request(operation, asked, who, at));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(polls_of_more_queues_than_are_kept_are_signed_all_the_same)
{
    aws::detail::json_signer kept(sqs()), fresh(sqs());
    for (int round = 0; round < 2; ++round) {
        for (int queue = 0; queue < 100; ++queue) {
            auto const asked = std::to_string(queue);
            BOOST_TEST(
                kept.poll("ReceiveMessage", asked, keys, now) == fresh.request("ReceiveMessage", asked, keys, now));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_content_type_says_which_version_it_is)
{
    BOOST_TEST(content_type(json_version::v1_0) == "application/x-amz-json-1.0");
    BOOST_TEST(content_type(json_version::v1_1) == "application/x-amz-json-1.1");
}

BOOST_AUTO_TEST_CASE(the_other_side_accepts_it)
{
    verifier check([](std::string_view) { return temporary; });
    aws::detail::json_signer signer(sqs());
    for (auto const later : {std::chrono::hours(0), std::chrono::hours(24)}) {
        auto const text = signer.request("SendMessage", body, temporary, now + later);
        BOOST_TEST(check.check(received(text).view, now + later).has_value());
    }
}

BOOST_AUTO_TEST_CASE(a_path_ends_in_a_slash)
{
    auto target = sqs();
    target.path = "/custom";
    aws::detail::json_signer signer(target);
    auto const text = signer.request("SendMessage", "{}", keys, now);
    BOOST_TEST(received(text).view.target == "/custom/");
    BOOST_TEST(received(text).version == "HTTP/1.1");
}

BOOST_AUTO_TEST_SUITE_END()
