#include "surrounded.hpp"

#include <quern/aws/credentials/sts.hpp>
#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/aws/detail/signing/verify.hpp>

#include <boost/test/unit_test.hpp>

namespace aws = quern::aws;
using namespace quern;
using namespace quern::detail;
using quern::test::surrounded;
using std::string;

namespace {

string answer(string action)
{
    return "<" + action + "Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\n  <" + action +
        "Result>\n" +
        "<AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/r/s</Arn></AssumedRoleUser>\n"
        "<Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>s&amp;</SecretAccessKey>"
        "<SessionToken>t</SessionToken><Expiration>2026-01-02T04:04:05Z</Expiration></Credentials>\n</" +
        action + "Result>\n</" + action + "Response>";
}

string error(string code, string type = "Sender")
{
    return "<ErrorResponse><Error><Type>" + type + "</Type><Code>" + code +
        "</Code><Message>first line\nsecond line</Message></Error><RequestId>r</RequestId></ErrorResponse>";
}

struct service : surrounded {
    aws::regional_endpoint sts{"https://sts.eu-west-1.amazonaws.com", "eu-west-1", "sts"};
    aws::credentials by{"AKID", "secret", "session"};

    result<aws::credentials> assume(aws::role what) { return run(aws::assume_role(around, sts, what, by)); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(sts, service)

BOOST_AUTO_TEST_CASE(a_role_is_assumed_with_a_signature_that_holds)
{
    web.add(200, answer("AssumeRole"));
    auto const found = assume({"arn:aws:iam::1:role/r", "me", "e x", "900"});
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(
        (*found == aws::credentials{"A", "s&", "t", text::parse_rfc3339("2026-01-02T04:04:05Z"), "123456789012"}));

    BOOST_REQUIRE(web.asked.size() == 1u);
    auto const& sent = web.asked[0];
    BOOST_TEST(sent.body ==
        "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&RoleSessionName=me"
        "&DurationSeconds=900&ExternalId=e%20x");
    aws::detail::request_view view{sent.method, "/", {{"host", "sts.eu-west-1.amazonaws.com"}}, sent.body};
    for (auto const& [name, value] : sent.headers)
        view.headers.push_back({name, value});
    aws::detail::verifier verifier([this](std::string_view) { return std::optional(by); });
    auto const caller = verifier.check(view, time.wall());
    BOOST_REQUIRE(caller.has_value());
    BOOST_TEST(caller->region == "eu-west-1");
    BOOST_TEST(caller->service == "sts");
}

BOOST_AUTO_TEST_CASE(a_session_has_a_name)
{
    web.add(200, answer("AssumeRole"));
    (void)assume({"a"});
    BOOST_TEST(web.asked[0].body.ends_with("&RoleSessionName=quern-1767323045"));
}

BOOST_AUTO_TEST_CASE(each_attempt_is_signed_anew)
{
    web.add(503, "busy");
    web.add(500, error("InternalFailure", "Receiver"));
    web.add(200, answer("AssumeRole"));
    BOOST_TEST(assume({"a"}).has_value());
    BOOST_TEST(web.asked.size() == 3u);
}

// On a machine whose clock was wrong SQS' calls were corrected, and those for its role were not.
BOOST_AUTO_TEST_CASE(a_wrong_clock_is_corrected_and_the_end_is_told_in_its_time)
{
    net::response refused;
    refused.status = 403;
    refused.fields.add("date", "Fri, 02 Jan 2026 02:04:05 GMT"); // ours is an hour ahead
    refused.body = error("SignatureDoesNotMatch");
    refused.body.replace(refused.body.find("first line"), 10, "Signature not yet current: 2026");
    web.answers.emplace_back(refused);
    auto whole = answer("AssumeRole");
    whole.replace(whole.find("2026-01-02T04:04:05Z"), 20, "2026-01-02T03:04:05Z");
    web.add(200, whole);
    auto const found = assume({"a"});
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found->expires_at == text::parse_rfc3339("2026-01-02T04:04:05Z"));
    BOOST_TEST(web.header(0, "X-Amz-Date") == "20260102T030405Z");
    BOOST_TEST(web.header(1, "X-Amz-Date") == "20260102T020405Z");

    for (int i = 0; i < 3; ++i)
        web.answers.emplace_back(refused);
    BOOST_TEST(assume({"a"}).error().service_code == "SignatureDoesNotMatch");
    BOOST_TEST(web.asked.size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_web_identity_is_sent_unsigned_and_read_each_time)
{
    for (string const token : {"one", "two\n"}) {
        files.text["/token"] = token;
        web.add(200, answer("AssumeRoleWithWebIdentity"));
        auto const found = run(aws::assume_role_with_web_identity(around, sts, aws::role{"a", "me"}, "/token"));
        BOOST_REQUIRE(found.has_value());
        BOOST_TEST(web.asked.back().body ==
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=a&RoleSessionName=me&WebIdentityToken=" +
                token.substr(0, 3));
        BOOST_TEST(web.header(web.asked.size() - 1, "Authorization") == "none");
    }
    auto const absent = run(aws::assume_role_with_web_identity(around, sts, aws::role{"a"}, "/absent"));
    BOOST_TEST(absent.error().message.starts_with("the web identity token /absent cannot be read: "));
}

BOOST_AUTO_TEST_CASE(errors_are_read_and_sorted)
{
    web.add(403, error("AccessDenied"));
    auto const denied = assume({"a"}).error();
    BOOST_TEST(denied.service_code == "AccessDenied");
    BOOST_TEST(denied.message == "first line");
    BOOST_TEST(denied.request_id == "r");
    BOOST_TEST(denied.sender_fault);
    BOOST_TEST(!denied.retryable);

    net::response busy;
    busy.status = 400;
    busy.body = error("Throttling");
    BOOST_TEST(aws::decode_sts_error(busy).code == errc::throttled);
    busy.body = error("IDPCommunicationError");
    BOOST_TEST(aws::decode_sts_error(busy).retryable);
    busy.body = "not XML";
    BOOST_TEST(aws::decode_sts_error(busy).http_status == 400);
}

BOOST_AUTO_TEST_CASE(an_error_commands_no_terminal)
{
    quern::net::response hostile;
    hostile.status = 400;
    hostile.body = error("Evil\x1b[2J", "Sender");
    BOOST_TEST(aws::decode_sts_error(hostile).service_code == "Evil [2J");
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_not_as_agreed_is_refused_without_showing_it)
{
    auto const whole = answer("AssumeRole");
    auto const without = [&](string const& part) {
        auto text = whole;
        text.replace(text.find(part), part.size(), "");
        auto const read = aws::credentials_in_sts_answer(text);
        return read ? "accepted" : read.error().message;
    };
    BOOST_TEST(without("<AccessKeyId>A</AccessKeyId>") == "STS: in the answer the access key is missing");
    BOOST_TEST(without("2026-01-02T04:04:05Z") == "STS: the answer does not say when the credentials expire");
    BOOST_TEST(without("</Credentials>") == "STS: the answer is not the XML that was expected");
    BOOST_TEST(!aws::credentials_in_sts_answer("<ErrorResponse/>"));
    BOOST_TEST(!aws::credentials_in_sts_answer(""));
}

BOOST_AUTO_TEST_SUITE_END()
