#include "letters.hpp"

#include <quern/relay/request.hpp>
#include <quern/relay/signature.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace quern::relay;
using namespace std::chrono_literals;
using quern::test::orders_queue;
using quern::test::some_message;

namespace {

quern::wall_time const now(1'772'366'401s);

request_options to(char const* url = "http://h/hook")
{
    request_options out;
    out.url = url_template::parse(url).value();
    return out;
}

hook_request make(request_options const& o, quern::sqs::message const& m = some_message(), request_keys const& k = {})
{
    return make_request({m, orders_queue}, o, k, now).value();
}

/// Its value; "-" without one, and "2x" when there are two.
std::string header(hook_request const& of, std::string_view name)
{
    std::string out = "-";
    for (auto const& [n, value] : of.headers)
        if (n == name) out = out == "-" ? value : "2x";
    return out;
}

request_options with(header_set which)
{
    auto out = to();
    out.headers = {which};
    return out;
}

quern::sqs::message with_attribute(std::string_view name, std::string_view value)
{
    auto out = some_message();
    out.attributes = {{name, "String", value}};
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(relay_request)

BOOST_AUTO_TEST_CASE(by_default_the_body_goes_as_it_is_with_quern_headers)
{
    auto const r = make(to());
    BOOST_TEST(r.method == "POST");
    BOOST_TEST(r.target == "/hook");
    BOOST_TEST(r.body == some_message().body);
    struct {
        char const *name, *value;
    } const table[] = {{"Content-Type", "application/json"}, {"Quern-Message-Id", "8b2c-1"},
        {"Quern-Receive-Count", "3"}, {"Quern-First-Receive-Time", "1772366400"}, {"Quern-Sent-Time", "1772366399"},
        {"Quern-Group-Id", "g 1"}, {"Quern-Queue", "orders"}, {"Idempotency-Key", "8b2c-1"},
        {"X-Amzn-Trace-Id", "Root=1-2-3"}, {"Quern-Attr-tenant", "acme"}, {"Quern-Attr-count", "5"},
        {"Quern-Attr-blob", "AAEC"}, {"User-Agent", "quern"}, {"X-Carrier-Receive-Count", "-"},
        {"Authorization", "-"}, {"webhook-signature", "-"}};
    for (auto const& row : table)
        BOOST_TEST(header(r, row.name) == row.value, row.name);
    BOOST_TEST(r.left_out.empty());
}

BOOST_AUTO_TEST_CASE(the_trace_that_a_request_is_made_for_comes_before_the_messages_own)
{
    constexpr char const* own = "00-11112222333344445555666677778888-0102030405060708-01";
    auto m = with_attribute("traceparent", own);
    auto const trace =
        quern::telemetry::read_w3c("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=1").value();
    BOOST_TEST(header(make(to(), m), "traceparent") == own);
    for (auto const which : {header_set::quern, header_set::carrier, header_set::sqsd}) {
        auto const r = make_request({m, orders_queue, trace}, with(which), {}, now).value();
        BOOST_TEST(header(r, "traceparent") == quern::telemetry::traceparent(trace));
        BOOST_TEST(header(r, "tracestate") == "a=1");
        BOOST_TEST(header(r, "X-Amzn-Trace-Id") == quern::telemetry::xray_header(trace));
        BOOST_TEST(r.left_out.empty());
    }
    auto chosen = to();
    chosen.extra.push_back(header_template::parse("traceparent: mine").value());
    auto const r = make_request({m, orders_queue, trace}, chosen, {}, now).value();
    BOOST_TEST(header(r, "traceparent") == "mine");
    BOOST_TEST(r.left_out.empty());
}

BOOST_AUTO_TEST_CASE(carriers_headers_are_in_seconds_or_as_it_really_sends_them)
{
    auto o = with(header_set::carrier);
    auto const r = make(o);
    BOOST_TEST(header(r, "X-Carrier-Receive-Count") == "3");
    BOOST_TEST(header(r, "X-Carrier-First-Receive-Time") == "1772366400");
    BOOST_TEST(header(r, "Quern-Message-Id") == "-");
    o.carrier_milliseconds = true;
    BOOST_TEST(header(make(o), "X-Carrier-First-Receive-Time") == "1772366400750");
}

BOOST_AUTO_TEST_CASE(sqsds_headers_leave_binary_attributes_and_its_own_out)
{
    auto m = some_message();
    m.attributes.push_back({"beanstalk.sqsd.task_name", "String", "nightly"});
    auto const r = make(with(header_set::sqsd), m);
    struct {
        char const *name, *value;
    } const table[] = {{"User-Agent", "aws-sqsd/2.0"}, {"X-Aws-Sqsd-Msgid", "8b2c-1"}, {"X-Aws-Sqsd-Queue", "orders"},
        {"X-Aws-Sqsd-First-Received-At", "2026-03-01T12:00:00Z"}, {"X-Aws-Sqsd-Receive-Count", "3"},
        {"X-Aws-Sqsd-Attr-tenant", "acme"}, {"X-Aws-Sqsd-Attr-count", "5"}, {"X-Aws-Sqsd-Attr-blob", "-"},
        {"X-Aws-Sqsd-Taskname", "nightly"}, {"X-Aws-Sqsd-Attr-beanstalk.sqsd.task_name", "-"}};
    for (auto const& row : table)
        BOOST_TEST(header(r, row.name) == row.value, row.name);
}

BOOST_AUTO_TEST_CASE(the_type_is_that_of_the_message_where_it_says_one)
{
    BOOST_TEST(header(make(to(), with_attribute("Body.ContentType", "text/csv")), "Content-Type") == "text/csv");
    BOOST_TEST(
        header(make(to(), with_attribute("Body.ContentType", "a\r\nb")), "Content-Type") == "application/json");
    BOOST_TEST(
        header(make(to(), with_attribute("Body.ContentType", "text/csv")), "Quern-Attr-Body.ContentType") == "-");
}

BOOST_AUTO_TEST_CASE(no_attribute_writes_another_header)
{
    struct {
        char const *value, *sent;
    } const table[] = {{"a b", "a b"}, {" a ", "a"}, {"100%", "100%"}, {"a\r\nX-Evil: 1", "a%0D%0AX-Evil: 1"},
        {"a\nb", "a%0Ab"}, {"\t", "%09"}, {"gr\xc3\xbc\xc3\x9f 5%", "gr%C3%BC%C3%9F 5%25"}, {"\x7f", "%7F"}};
    for (auto const& row : table)
        BOOST_TEST(header(make(to(), with_attribute("tenant", row.value)), "Quern-Attr-tenant") == row.sent);
    for (auto const* name : {"a:b", "a b", "a\r\nb", "\xc3\xa4", "a/b"}) {
        auto const r = make(to(), with_attribute(name, "x"));
        BOOST_TEST(r.left_out.size() == 1u, name);
        BOOST_TEST(std::ranges::none_of(r.headers, [](auto const& h) { return h.second == "x"; }), name);
    }
}

BOOST_AUTO_TEST_CASE(of_two_names_that_differ_in_case_alone_the_first_is_sent)
{
    auto m = some_message();
    m.attributes = {{"tenant", "String", "a"}, {"Tenant", "String", "b"}};
    auto const r = make(to(), m);
    BOOST_TEST(header(r, "Quern-Attr-tenant") == "a");
    BOOST_TEST(header(r, "Quern-Attr-Tenant") == "-");
    BOOST_TEST(r.left_out.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_header_that_no_server_would_take_is_left_out)
{
    std::string const long_one(5'000, 'x');
    auto const r = make(to(), with_attribute("tenant", long_one));
    BOOST_TEST(header(r, "Quern-Attr-tenant") == "-");
    BOOST_TEST(r.left_out.size() == 1u);
}

// Requests went out without it, and some service or other may admit those.
BOOST_AUTO_TEST_CASE(a_token_is_never_left_out_for_its_length)
{
    request_keys keys;
    keys.authorization = "Bearer " + std::string(5'000, 'x');
    auto const r = make(to(), some_message(), keys);
    BOOST_TEST(header(r, "Authorization") == keys.authorization);
    BOOST_TEST(r.left_out.empty());
}

BOOST_AUTO_TEST_CASE(headers_of_the_user_take_the_place_of_the_usual_ones)
{
    auto o = to();
    for (auto const* line : {"X-Tenant: {{attr.tenant}}", "idempotency-key: {{deduplication_id}}",
             "X-None: {{attr.none}}", "content-type:text/plain", "Authorization: Basic x"})
        o.extra.push_back(header_template::parse(line).value());
    request_keys keys;
    keys.authorization = "Bearer y";
    auto const r = make(o, some_message(), keys);
    BOOST_TEST(header(r, "X-Tenant") == "acme");
    BOOST_TEST(header(r, "idempotency-key") == "d1");
    BOOST_TEST(header(r, "Idempotency-Key") == "-");
    BOOST_TEST(header(r, "content-type") == "text/plain");
    BOOST_TEST(header(r, "Content-Type") == "-");
    BOOST_TEST(header(r, "Authorization") == "Basic x");
    BOOST_TEST(header(r, "X-None") == "-");
    BOOST_TEST(r.left_out.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_header_that_frames_the_request_or_is_none_is_refused)
{
    for (auto const* line : {"Host: x", "content-length: 1", "Transfer-Encoding: chunked", "Connection: close",
             "no colon", ": x", "a b: c", "X: a\r\nb", "X: {{nothing}}"})
        BOOST_TEST(!header_template::parse(line).has_value(), line);
}

BOOST_AUTO_TEST_CASE(a_url_that_cannot_be_made_is_a_failure_of_the_message)
{
    auto const m = some_message();
    auto const out = make_request({m, orders_queue}, to("http://h/{{attr.none}}"), {}, now);
    BOOST_TEST(!out.has_value());
    BOOST_TEST(out.error().message == "URL: the message has no {{attr.none}}");
}

BOOST_AUTO_TEST_CASE(each_attempt_is_signed_with_its_own_time)
{
    request_keys keys;
    keys.signing = {signing_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").value()};
    auto const m = some_message();
    auto const first = make(to(), m, keys);
    auto const later = make_request({m, orders_queue}, to(), keys, now + 10min).value();
    BOOST_TEST(header(first, "webhook-id") == "8b2c-1");
    BOOST_TEST(header(first, "webhook-timestamp") == "1772366401");
    BOOST_TEST(header(later, "webhook-timestamp") == "1772367001");
    BOOST_TEST(header(first, "webhook-signature") == webhook_signature(keys.signing, "8b2c-1", now, m.body));
    BOOST_TEST(header(first, "webhook-signature") != header(later, "webhook-signature"));
}

BOOST_AUTO_TEST_CASE(keys_of_both_kinds_sign_one_request)
{
    request_keys keys;
    keys.ed25519 = {std::string(32, '7')};
    auto const m = some_message();
    auto const other = ed25519_signature(keys.ed25519, "8b2c-1", now, m.body);
    BOOST_TEST(header(make(to(), m, keys), "webhook-signature") == other);
    keys.signing = {signing_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").value()};
    auto const first = webhook_signature(keys.signing, "8b2c-1", now, m.body);
    BOOST_TEST(header(make(to(), m, keys), "webhook-signature") == first + ' ' + other);
}

// It was signed with the id of the message, and nobody could verify that.
BOOST_AUTO_TEST_CASE(an_id_of_the_users_choice_is_the_one_that_is_signed)
{
    request_keys keys;
    keys.signing = {signing_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").value()};
    auto o = to();
    o.extra.push_back(header_template::parse("Webhook-Id: {{attr.tenant}}").value());
    auto const m = some_message();
    auto const r = make(o, m, keys);
    BOOST_TEST(header(r, "Webhook-Id") == "acme");
    BOOST_TEST(header(r, "webhook-signature") == webhook_signature(keys.signing, "acme", now, m.body));
}

BOOST_AUTO_TEST_CASE(a_cloudevent_is_made_of_headers_or_of_json)
{
    auto o = to();
    o.format = body_format::cloudevents;
    auto const binary = make(o);
    BOOST_TEST(binary.body == some_message().body);
    BOOST_TEST(header(binary, "ce-id") == "8b2c-1");
    BOOST_TEST(header(binary, "ce-specversion") == "1.0");
    BOOST_TEST(header(binary, "ce-source") == orders_queue.arn);
    BOOST_TEST(header(binary, "ce-type") == "com.amazon.sqs.message");
    BOOST_TEST(header(binary, "ce-time") == "2026-03-01T11:59:59Z");

    o.format = body_format::cloudevents_structured;
    auto m = some_message();
    m.body = R"({"kind":"new"})";
    std::string const begin = R"({"specversion":"1.0","id":"8b2c-1","source":")" + orders_queue.arn +
        R"(","type":"com.amazon.sqs.message","time":"2026-03-01T11:59:59Z","datacontenttype":"application/json","data":)";
    BOOST_TEST(make(o, m).body == begin + R"({"kind":"new"}})");
    BOOST_TEST(header(make(o, m), "Content-Type") == "application/cloudevents+json; charset=utf-8");
    m.body = "no \"JSON\"";
    BOOST_TEST(make(o, m).body == begin + R"("no \"JSON\""})");
    m.body = "\xef\xbb\xbf{\"n\":1.50}";
    BOOST_TEST(make(o, m).body == begin + R"({"n":1.50}})");
}

BOOST_AUTO_TEST_CASE(an_sns_notification_is_not_wrapped_twice)
{
    auto o = to();
    o.format = body_format::sns;
    auto m = some_message();
    m.body = "hello";
    m.attributes.resize(1);
    auto const r = make(o, m);
    BOOST_TEST(r.body ==
        R"({"Type":"Notification","MessageId":"8b2c-1","TopicArn":")" + orders_queue.arn +
            R"(","Message":"hello","Timestamp":"2026-03-01T11:59:59Z","MessageAttributes":{"tenant":{"Type":"String","Value":"acme"}}})");
    BOOST_TEST(header(r, "x-amz-sns-message-type") == "Notification");
    m.body = R"({"Type":"Notification","TopicArn":"arn:x","Message":"hello"})";
    BOOST_TEST(make(o, m).body == m.body);
}

BOOST_AUTO_TEST_CASE(a_lambda_event_has_everything_of_the_message)
{
    auto o = to();
    o.format = body_format::lambda;
    auto m = some_message();
    m.body = "hello";
    m.system_attributes.resize(1);
    m.attributes = {{"blob", "Binary", "\1\2"}, {"n", "Number", "5"}};
    BOOST_TEST(make(o, m).body ==
        R"({"Records":[{"messageId":"8b2c-1","receiptHandle":"handle","body":"hello","attributes":{"ApproximateReceiveCount":"3"},)"
        R"("messageAttributes":{"blob":{"binaryValue":"AQI=","stringListValues":[],"binaryListValues":[],"dataType":"Binary"},)"
        R"("n":{"stringValue":"5","stringListValues":[],"binaryListValues":[],"dataType":"Number"}},"md5OfBody":"0123",)"
        R"("eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:000000000000:orders","awsRegion":"eu-west-1"}]})");
}

BOOST_AUTO_TEST_CASE(an_event_of_several_messages_has_a_record_each_and_no_header_of_one)
{
    auto o = to();
    o.format = body_format::lambda;
    auto const first = some_message();
    auto second = some_message();
    second.id = "8b2c-2";
    letter const all[] = {{first, orders_queue}, {second, orders_queue}};
    auto const made = make_batch_request(all, o, {}).value();
    auto const one = make(o, first).body, other = make(o, second).body;
    BOOST_TEST(made.body == one.substr(0, one.size() - 2) + "," + other.substr(other.find('[') + 1));
    BOOST_TEST(header(made, "Quern-Queue") == "orders");
    for (auto const* name : {"Idempotency-Key", "Quern-Message-Id", "Quern-Receive-Count", "webhook-id"})
        BOOST_TEST(header(made, name) == "-", name);
}

BOOST_AUTO_TEST_CASE(what_differs_from_message_to_message_is_refused_for_batches)
{
    auto const why = [](request_options const& o) {
        auto const wrong = o.validate_for_batches();
        return wrong ? wrong->message : "";
    };
    auto o = to();
    BOOST_TEST(why(o).find("lambda") != std::string::npos);
    o.format = body_format::lambda;
    BOOST_TEST(why(o).empty());
    auto templated = o;
    templated.url = url_template::parse("http://h/{{id}}").value();
    BOOST_TEST(why(templated).find("places") != std::string::npos);
    templated = o;
    templated.extra = {header_template::parse("X: {{id}}").value()};
    BOOST_TEST(why(templated).find("places") != std::string::npos);
    o.headers = {header_set::sqsd};
    BOOST_TEST(why(o).find("sqsd") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(settings_that_cannot_work_are_named)
{
    BOOST_TEST(!to().validate());
    BOOST_TEST(request_options().validate().value().message.find("URL") != std::string::npos);
    auto o = to();
    for (auto const* method : {"", "post", "GET /", "CONNECT", "TRACE"}) {
        o.method = method;
        BOOST_TEST(o.validate().has_value(), method);
    }
    o = to();
    o.content_type = "a\nb";
    BOOST_TEST(o.validate().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
