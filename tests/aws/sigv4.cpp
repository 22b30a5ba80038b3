#include "support/presign.hpp"

#include <quern/aws/detail/signing/sigv4.hpp>

#include <boost/test/unit_test.hpp>

// AWS's own cases run in the suite `sigv4` of quern-conformance; here is what they leave out.

using namespace quern::aws::detail;
using quern::test::presign;
using namespace quern::detail;

namespace aws = quern::aws;

namespace {

aws::credentials const keys{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
signing_scope const scope{text::timestamp(*text::parse_timestamp("20260102T030405Z")), "us-east-1", "sqs"};

std::string added(signed_headers const& result, std::string_view name)
{
    for (auto const& [key, value] : result.added) {
        if (key == name) return value;
    }
    return {};
}

} // namespace

BOOST_AUTO_TEST_SUITE(sigv4)

BOOST_AUTO_TEST_CASE(signs_a_call_to_sqs)
{
    std::string const body = R"({"QueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/MyQueue"})";
    request_view const request{"POST", "/",
        {{"Host", "sqs.us-east-1.amazonaws.com"}, {"Content-Type", "application/x-amz-json-1.0"},
            {"X-Amz-Target", "AmazonSQS.ReceiveMessage"}, {"x-amzn-query-mode", "true"}, {"User-Agent", "not signed"},
            {"Connection", "not signed"}},
        body};
    signing_keys cache;
    auto const result = sign(request, keys, scope, {}, cache);
    BOOST_TEST(text::hex(text::sha256(result.canonical_request)) ==
        "710ab6073aa756eb4801aeb92b33f08b675d6719167b97586745f071a97bd86e");
    BOOST_TEST(result.signature == "7f176ed213f547176f6f697e145625b4fce13f5756cf61f0d9d42b1c0b314949");
    BOOST_TEST(added(result, "Authorization") ==
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/us-east-1/sqs/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date;x-amz-target;x-amzn-query-mode, Signature=" +
            result.signature);
}

BOOST_AUTO_TEST_CASE(a_given_payload_hash_replaces_that_of_the_body)
{
    request_view const request{"PUT", "/", {{"host", "h"}}, "body"};
    signing_options options;
    options.sign_body = true;
    options.payload_hash = "UNSIGNED-PAYLOAD";
    signing_keys cache;
    auto const result = sign(request, keys, scope, options, cache);
    BOOST_TEST(result.canonical_request.ends_with("\nUNSIGNED-PAYLOAD"));
    BOOST_TEST(added(result, "x-amz-content-sha256") == "UNSIGNED-PAYLOAD");
}

BOOST_AUTO_TEST_CASE(a_presigned_target_extends_the_query_whatever_it_ends_in)
{
    signing_keys cache;
    auto const target = [&](std::string_view from) {
        request_view const request{"GET", from, {{"host", "h"}}, ""};
        auto const made = presign(request, keys, scope, {}, std::chrono::minutes(5), cache).target;
        return made.substr(0, made.find("X-Amz-Algorithm=")) + "…" +
            (made.find("&X-Amz-Expires=300&X-Amz-Signature=") == made.npos ? "" : "signed");
    };
    BOOST_TEST(target("/") == "/?…signed");
    BOOST_TEST(target("/?") == "/?…signed");
    BOOST_TEST(target("/?a=b") == "/?a=b&…signed");
    BOOST_TEST(target("/?a=b&") == "/?a=b&…signed");
}

BOOST_AUTO_TEST_CASE(signing_keys_differ_by_each_of_their_four_parts_and_are_remembered)
{
    signing_keys cache;
    auto const first = cache.get("secret", "20260102", "us-east-1", "sqs");
    BOOST_TEST(text::hex(cache.get("other", "20260102", "us-east-1", "sqs")) != text::hex(first));
    BOOST_TEST(text::hex(cache.get("secret", "20260103", "us-east-1", "sqs")) != text::hex(first));
    BOOST_TEST(text::hex(cache.get("secret", "20260102", "eu-west-1", "sqs")) != text::hex(first));
    BOOST_TEST(text::hex(cache.get("secret", "20260102", "us-east-1", "sns")) != text::hex(first));
    BOOST_TEST(text::hex(cache.get("secret", "20260102", "us-east-1", "sqs")) == text::hex(first));
    for (int i = 0; i < 200; ++i)
        cache.get(std::to_string(i), "20260102", "us-east-1", "sqs");
    BOOST_TEST(text::hex(cache.get("secret", "20260102", "us-east-1", "sqs")) == text::hex(first));
}

BOOST_AUTO_TEST_SUITE_END()
