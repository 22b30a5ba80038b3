#include "support/presign.hpp"

#include <quern/aws/detail/signing/verify.hpp>

#include <boost/test/unit_test.hpp>

namespace aws = quern::aws;
using namespace quern::detail;
using namespace quern::aws::detail;
using quern::test::presign;
using namespace std::chrono_literals;

namespace {

aws::credentials const keys{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
aws::credentials const temporary{"ASIAEXAMPLE", "secret", "token/with+signs=="};
quern::wall_time const signed_at = *text::parse_timestamp("20260102T030405Z");

std::optional<aws::credentials> known(std::string_view id)
{
    for (auto const& who : {keys, temporary}) {
        if (who.access_key_id == id) return who;
    }
    return {};
}

/// A request on its way, with storage for what it points to.
struct travelling {
    std::string target = "/123456789012/my queue?a=b";
    std::string body = "{}";
    std::vector<std::pair<std::string, std::string>> headers{{"Host", "localhost:9324"}, {"Content-Type", "json"}};

    request_view view() const
    {
        request_view out{"POST", target, {}, body};
        for (auto const& [name, value] : headers)
            out.headers.push_back({name, value});
        return out;
    }

    std::string& header(std::string_view name)
    {
        for (auto& [key, value] : headers) {
            if (key == name) return value;
        }
        throw std::logic_error("no such header");
    }
};

signing_scope scope()
{
    return {text::timestamp(signed_at), "us-east-1", "sqs"};
}

travelling in_headers(aws::credentials const& who = keys, bool sign_body = false)
{
    travelling request;
    signing_keys cache;
    signing_options options;
    options.sign_body = sign_body;
    for (auto& added : sign(request.view(), who, scope(), options, cache).added)
        request.headers.push_back(added);
    return request;
}

travelling in_query(aws::credentials const& who = keys)
{
    travelling request;
    signing_keys cache;
    request.target = presign(request.view(), who, scope(), {}, 600s, cache).target;
    return request;
}

/// "ok", or the code of the refusal.
std::string verdict(travelling const& request, quern::wall_time now = signed_at)
{
    verifier check(known);
    auto const answer = check.check(request.view(), now);
    if (answer) return "ok";
    BOOST_TEST(answer.error().sender_fault);
    BOOST_TEST(answer.error().http_status == (answer.error().service_code == "IncompleteSignature" ? 400 : 403));
    return answer.error().service_code;
}

std::string message(travelling const& request, quern::wall_time now = signed_at)
{
    verifier check(known);
    auto const answer = check.check(request.view(), now);
    return answer ? "" : answer.error().message;
}

void replace(std::string& text, std::string_view what, std::string_view with)
{
    auto const at = text.find(what);
    BOOST_REQUIRE(at != text.npos);
    text.replace(at, what.size(), with);
}

} // namespace

BOOST_AUTO_TEST_SUITE(verify)

BOOST_AUTO_TEST_CASE(accepts_both_forms_with_and_without_a_session_token)
{
    for (auto const& who : {keys, temporary}) {
        BOOST_TEST(verdict(in_headers(who)) == "ok");
        BOOST_TEST(verdict(in_headers(who, true)) == "ok");
        BOOST_TEST(verdict(in_query(who)) == "ok");
    }
}

BOOST_AUTO_TEST_CASE(says_who_called_and_for_where)
{
    verifier check(known);
    auto const answer = check.check(in_headers().view(), signed_at);
    BOOST_REQUIRE(answer.has_value());
    BOOST_TEST(answer->access_key_id == "AKIDEXAMPLE");
    BOOST_TEST(answer->region == "us-east-1");
    BOOST_TEST(answer->service == "sqs");
}

BOOST_AUTO_TEST_CASE(an_unsigned_request_lacks_a_token)
{
    BOOST_TEST(verdict(travelling()) == "MissingAuthenticationToken");
}

BOOST_AUTO_TEST_CASE(anything_changed_on_the_way_breaks_the_signature)
{
    auto request = in_headers();
    request.body = "{ }";
    BOOST_TEST(verdict(request) == "SignatureDoesNotMatch");
    request = in_headers();
    request.target = "/123456789012/other?a=b";
    BOOST_TEST(verdict(request) == "SignatureDoesNotMatch");
    request = in_headers();
    request.target += "&c=d";
    BOOST_TEST(verdict(request) == "SignatureDoesNotMatch");
    request = in_headers();
    request.header("Content-Type") = "xml";
    BOOST_TEST(verdict(request) == "SignatureDoesNotMatch");
    request = in_headers();
    std::erase_if(request.headers, [](auto const& h) { return h.first == "Content-Type"; });
    BOOST_TEST(verdict(request) == "SignatureDoesNotMatch");
    request = in_query();
    replace(request.target, "X-Amz-Expires=600", "X-Amz-Expires=6000");
    BOOST_TEST(verdict(request) == "SignatureDoesNotMatch");
}

BOOST_AUTO_TEST_CASE(headers_that_were_not_signed_may_change)
{
    auto request = in_headers();
    request.headers.emplace_back("Via", "a proxy");
    BOOST_TEST(verdict(request) == "ok");
}

BOOST_AUTO_TEST_CASE(a_wrong_secret_does_not_match)
{
    auto thief = keys;
    thief.secret_access_key = "guessed";
    BOOST_TEST(verdict(in_headers(thief)) == "SignatureDoesNotMatch");
    BOOST_TEST(verdict(in_query(thief)) == "SignatureDoesNotMatch");
}

BOOST_AUTO_TEST_CASE(an_unknown_key_or_a_foreign_session_token_is_invalid)
{
    BOOST_TEST(verdict(in_headers({"AKIDOTHER", "secret", ""})) == "InvalidClientTokenId");
    auto other_session = temporary;
    other_session.session_token = "of yesterday";
    BOOST_TEST(verdict(in_headers(other_session)) == "InvalidClientTokenId");
    other_session.session_token = "";
    BOOST_TEST(verdict(in_query(other_session)) == "InvalidClientTokenId");
}

BOOST_AUTO_TEST_CASE(a_signing_time_within_fifteen_minutes_is_accepted)
{
    for (auto const off : {-900s, 900s})
        BOOST_TEST(verdict(in_headers(), signed_at + off) == "ok");
    for (auto const off : {-901s, 901s})
        BOOST_TEST(verdict(in_headers(), signed_at + off) == "SignatureDoesNotMatch");
    BOOST_TEST(message(in_headers(), signed_at + 1h) ==
        "Signature expired: 20260102T030405Z is now earlier than 20260102T034905Z (20260102T040405Z - 15 min.)");
    BOOST_TEST(message(in_headers(), signed_at - 1h) ==
        "Signature not yet current: 20260102T030405Z is still later than 20260102T021905Z "
        "(20260102T020405Z + 15 min.)");
}

BOOST_AUTO_TEST_CASE(a_presigned_request_lives_as_long_as_it_says)
{
    BOOST_TEST(verdict(in_query(), signed_at + 600s) == "ok");
    BOOST_TEST(verdict(in_query(), signed_at + 601s) == "SignatureDoesNotMatch");
    BOOST_TEST(message(in_query(), signed_at + 601s).starts_with("Signature expired"));
    BOOST_TEST(verdict(in_query(), signed_at - 901s) == "SignatureDoesNotMatch");
}

BOOST_AUTO_TEST_CASE(the_declared_hash_of_the_body_counts)
{
    auto request = in_headers(keys, true);
    request.body = "{ }";
    BOOST_TEST(verdict(request) == "SignatureDoesNotMatch");
    BOOST_TEST(message(request).starts_with("x-amz-content-sha256"));

    travelling unsigned_body;
    signing_options options;
    options.sign_body = true;
    options.payload_hash = "UNSIGNED-PAYLOAD";
    signing_keys cache;
    auto const made = sign(unsigned_body.view(), keys, scope(), options, cache);
    for (auto const& added : made.added)
        unsigned_body.headers.push_back(added);
    unsigned_body.body = "anything";
    BOOST_TEST(verdict(unsigned_body) == "ok");
}

BOOST_AUTO_TEST_CASE(a_date_header_does_in_place_of_x_amz_date)
{
    travelling request;
    request.headers.emplace_back("Date", "Fri, 02 Jan 2026 03:04:05 GMT");
    signing_keys cache;
    auto const canonical = canonicalize(request.view().headers);
    auto const steps = seal(canonical_request("POST", canonical_path(request.view().path(), true), "a=b", canonical,
                                text::hex(text::sha256(request.body))),
        keys.secret_access_key, scope(), cache);
    request.headers.emplace_back("Authorization",
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" + scope().text() + ",SignedHeaders=" + canonical.names +
            ",Signature=" + steps.signature);
    BOOST_TEST(verdict(request) == "ok");
    BOOST_TEST(verdict(request, signed_at + 1h) == "SignatureDoesNotMatch");
}

BOOST_AUTO_TEST_CASE(a_malformed_authorization_is_incomplete)
{
    for (auto const* const value :
        {"Basic dXNlcjpwYXNz", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 Credential=,SignedHeaders=,Signature=",
            "AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request, SignedHeaders=host",
            "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host, Signature=0",
            "AWS4-HMAC-SHA256 Credential=a/20260102/r/sqs/aws2_request, SignedHeaders=host, Signature=0",
            "AWS4-HMAC-SHA256 ,,,=,Credential==,"}) {
        auto request = in_headers();
        request.header("Authorization") = value;
        BOOST_TEST(verdict(request) == "IncompleteSignature", value);
    }
}

BOOST_AUTO_TEST_CASE(a_missing_or_malformed_date_is_incomplete_and_another_day_does_not_match)
{
    auto request = in_headers();
    std::erase_if(request.headers, [](auto const& h) { return h.first == "X-Amz-Date"; });
    BOOST_TEST(verdict(request) == "IncompleteSignature");
    request = in_headers();
    request.header("X-Amz-Date") = "yesterday";
    BOOST_TEST(verdict(request) == "IncompleteSignature");
    request = in_headers();
    request.header("X-Amz-Date") = "20260103T030405Z";
    BOOST_TEST(verdict(request) == "SignatureDoesNotMatch");
}

// A signed GetQueueAttributes became a PurgeQueue: its x-amz-target was not signed.
BOOST_AUTO_TEST_CASE(every_x_amz_header_must_be_signed)
{
    auto request = in_headers();
    request.headers.emplace_back("X-Amz-Target", "AmazonSQS.PurgeQueue");
    BOOST_TEST(verdict(request) == "SignatureDoesNotMatch");
    BOOST_TEST(message(request).ends_with("which were not signed: x-amz-target"));
    request.header("X-Amz-Target") = "";
    BOOST_TEST(verdict(request) == "SignatureDoesNotMatch");
    request = in_headers();
    request.headers.emplace_back("X-Amzn-Trace-Id", "proxies add it");
    BOOST_TEST(verdict(request) == "ok");
}

BOOST_AUTO_TEST_CASE(what_no_body_could_mend_is_told_before_there_is_one)
{
    verifier const checker(known);
    auto request = in_headers();
    request.body = "another";
    BOOST_TEST(!checker.refusal_without_body(request.view(), signed_at).has_value());
    BOOST_TEST(checker.refusal_without_body(request.view(), signed_at + 1h)->service_code == "SignatureDoesNotMatch");
    request.headers.clear();
    BOOST_TEST(checker.refusal_without_body(request.view(), signed_at)->service_code == "MissingAuthenticationToken");
}

BOOST_AUTO_TEST_CASE(the_host_must_be_signed)
{
    auto request = in_headers();
    replace(request.header("Authorization"), "content-type;host;", "content-type;");
    BOOST_TEST(verdict(request) == "IncompleteSignature");
}

BOOST_AUTO_TEST_CASE(a_malformed_presigned_query_is_incomplete)
{
    for (auto const* const changed :
        {"X-Amz-Expires=0", "X-Amz-Expires=604801", "X-Amz-Expires=ten", "X-Amz-Expires=", "x=600"}) {
        auto request = in_query();
        replace(request.target, "X-Amz-Expires=600", changed);
        BOOST_TEST(verdict(request) == "IncompleteSignature", changed);
    }
    auto request = in_query();
    replace(request.target, "AWS4-HMAC-SHA256", "AWS3-HMAC-SHA256");
    BOOST_TEST(verdict(request) == "IncompleteSignature");
}

BOOST_AUTO_TEST_SUITE_END()
