// Requests as other relays make them, and what was published to SNS.

#include <quern/relay/request.hpp>

#include "relay/letters.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace quern::relay;
using quern::test::orders_queue;
using quern::test::some_message;

namespace {

request_options hooked(header_set which = header_set::quern)
{
    request_options out;
    out.url = url_template::parse("http://localhost:80/hook").value();
    out.headers = {which};
    return out;
}

hook_request request_of(request_options const& o, quern::sqs::message const& m)
{
    return make_request({m, orders_queue}, o, {}, quern::wall_time()).value();
}

/// Its value; "-" without one.
std::string value_of(hook_request const& of, std::string_view name)
{
    for (auto const& [n, value] : of.headers)
        if (n == name) return value;
    return "-";
}

quern::sqs::message for_path(std::string_view path)
{
    auto out = some_message();
    out.attributes = {{"beanstalk.sqsd.path", "String", path}};
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(drop_ins)

BOOST_AUTO_TEST_CASE(what_was_published_to_sns_is_unwrapped_with_its_attributes_and_its_trace)
{
    auto o = hooked();
    o.format = body_format::sns_message;
    o.extra = {header_template::parse("X-Kind: {{body:/kind}}").value()};
    auto m = some_message();
    m.body =
        R"({"Type":"Notification","MessageId":"s","TopicArn":"arn:x","Message":"{\"kind\":\"new\"}","MessageAttributes":)"
        R"({"tenant":{"Type":"String","Value":"b"},"blob":{"Type":"Binary","Value":"AAE="},)"
        R"("traceparent":{"Type":"String","Value":"00-1-2-01"}}})";
    auto const r = request_of(o, m);
    BOOST_TEST(r.body == R"({"kind":"new"})");
    BOOST_TEST(value_of(r, "X-Kind") == "new");
    BOOST_TEST(value_of(r, "Quern-Attr-tenant") == "b");
    BOOST_TEST(value_of(r, "Quern-Attr-blob") == "AAE=");
    BOOST_TEST(value_of(r, "Quern-Attr-count") == "-"); // one of the queue's message
    BOOST_TEST(value_of(r, "traceparent") == "00-1-2-01");
    o.format = body_format::raw;
    BOOST_TEST(request_of(o, m).body == m.body);
    BOOST_TEST(value_of(request_of(o, m), "traceparent") == "00-1-2-01"); // the publisher's, within
    o.format = body_format::sns_message;
    m.body = "raw delivery";
    BOOST_TEST(request_of(o, m).body == "raw delivery");
}

BOOST_AUTO_TEST_CASE(the_arn_of_a_queue_is_that_of_its_partition_and_its_own_region)
{
    auto const arn = [](std::string_view url) { return queue_name::from_url(url, "eu-west-1").arn; };
    BOOST_TEST(arn("https://sqs.cn-north-1.amazonaws.com.cn/1/orders") == "arn:aws-cn:sqs:cn-north-1:1:orders");
    BOOST_TEST(
        arn("https://sqs.us-gov-west-1.amazonaws.com/1/orders") == "arn:aws-us-gov:sqs:us-gov-west-1:1:orders");
    BOOST_TEST(arn("https://sqs.ap-south-1.amazonaws.com/1/orders") == "arn:aws:sqs:ap-south-1:1:orders");
    BOOST_TEST(arn("http://127.0.0.1:9324/1/orders") == "arn:aws:sqs:eu-west-1:1:orders");
}

BOOST_AUTO_TEST_CASE(with_sqsds_path_a_message_chooses_where_it_goes_and_cannot_leave_the_host)
{
    auto o = hooked(header_set::sqsd);
    auto const target = [&](std::string_view path) {
        auto const r = make_request({for_path(path), orders_queue}, o, {}, quern::wall_time());
        return r ? r->target : r.error().message;
    };
    BOOST_TEST(target("/nightly") == "/hook"); // off
    o.sqsd_path = true;
    BOOST_TEST(target("/nightly/a b?c#d") == "/nightly/a%20b%3Fc%23d");
    BOOST_TEST(target("/") == "/");
    BOOST_TEST(target("nightly") == "URL: the path of the message has no slash at its front");
    BOOST_TEST(target("/a/../b") == "URL: the path of the message leads upwards");
    BOOST_TEST(target("/a/%2e%2e/b") == "/a/%252e%252e/b");
    BOOST_TEST(value_of(request_of(o, for_path("/x")), "X-Aws-Sqsd-Path") == "/x");
}

// Of Python's hmac and hashlib.
BOOST_AUTO_TEST_CASE(simple_sqsds_signature_is_of_method_url_and_body)
{
    auto o = hooked();
    o.hmac = {"X-Signature", "s3cret", "http://localhost:80/work"};
    auto m = some_message();
    m.body = "the body";
    BOOST_TEST(value_of(request_of(o, m), "X-Signature") ==
        "103f0bdb8bd9a6ee0e4527fdc1756501c3b90700682bf879dce3eea54bfafa9f");
}

BOOST_AUTO_TEST_SUITE_END()
