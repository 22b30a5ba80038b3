#include "letters.hpp"

#include <quern/relay/template.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::relay;
using quern::test::orders_queue;
using quern::test::some_message;

namespace {

std::string fill(char const* text, quern::sqs::message const& m = some_message())
{
    return text_template::parse(text).value().fill({m, orders_queue}).value();
}

std::string target(char const* url, quern::sqs::message const& m = some_message())
{
    return url_template::parse(url).value().target({m, orders_queue}).value();
}

quern::sqs::message with_tenant(std::string_view value)
{
    auto out = some_message();
    out.attributes.front().value = value;
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(relay_template)

BOOST_AUTO_TEST_CASE(each_place_has_its_value)
{
    struct {
        char const *text, *filled;
    } const table[] = {{"", ""}, {"plain } text {", "plain } text {"}, {"{{id}}", "8b2c-1"},
        {"<{{ id }}>", "<8b2c-1>"}, {"{{group}}", "g 1"}, {"{{receive_count}}", "3"}, {"{{queue}}", "orders"},
        {"{{sent_at}}", "1772366399"}, {"{{first_received_at}}", "1772366400"}, {"{{sequence_number}}", "42"},
        {"{{deduplication_id}}", "d1"}, {"{{attr.tenant}}/{{attr.count}}", "acme/5"}, {"{{attr.blob}}", "AAEC"},
        {"{{body:/kind}}", "new"}, {"{{body:/shop/id}}", "7"}, {"{{body:/path~1odd}}", "a b"},
        {"{{body:/list/0}}", "1"}};
    for (auto const& row : table)
        BOOST_TEST(fill(row.text) == row.filled);
    BOOST_TEST(fill("{{body}}") == some_message().body);
}

// 10.00 became 10.0, and 3.14159265358979323846 lost its end: a signature over the value did not hold.
BOOST_AUTO_TEST_CASE(a_number_keeps_its_digits)
{
    auto m = some_message();
    for (auto const* digits :
        {"10.00", "1.10", "1e3", "3.14159265358979323846", "12345678901234567890123", "1e400"}) {
        auto const body = R"({"n":)" + std::string(digits) + "}";
        m.body = body;
        BOOST_TEST(fill("{{body:/n}}", m) == digits);
    }
    m.body = "\xef\xbb\xbf{\"kind\":\"new\"}";
    BOOST_TEST(fill("{{body:/kind}}", m) == "new");
}

BOOST_AUTO_TEST_CASE(a_value_is_not_read_as_a_template)
{
    BOOST_TEST(fill("{{attr.tenant}}", with_tenant("{{id}}")) == "{{id}}");
}

BOOST_AUTO_TEST_CASE(what_a_message_lacks_is_named)
{
    for (auto const* text :
        {"{{attr.absent}}", "{{body:/absent}}", "{{body:/none}}", "{{body:/shop}}", "{{body:/list}}"}) {
        auto const m = some_message();
        auto const out = text_template::parse(text).value().fill({m, orders_queue});
        BOOST_TEST(!out.has_value(), text);
        if (!out) BOOST_TEST(out.error().message == std::string("the message has no ") + text);
    }
    auto m = some_message();
    m.body = "no JSON";
    BOOST_TEST(!text_template::parse("{{body:/kind}}").value().fill({m, orders_queue}).has_value());
}

BOOST_AUTO_TEST_CASE(a_place_that_is_not_known_is_refused)
{
    for (auto const* text :
        {"{{", "{{id", "{{}}", "{{ID}}", "{{attr.}}", "{{attr}}", "{{body:}}", "{{body:kind}}", "{{x}}"})
        BOOST_TEST(!text_template::parse(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(a_url_has_a_fixed_origin_and_encoded_values)
{
    BOOST_TEST(url_template::parse("https://Host:8443/x?y").value().origin() == "https://Host:8443");
    BOOST_TEST(url_template::parse("http://[::1]:80/x").value().origin() == "http://[::1]");
    BOOST_TEST(target("http://h") == "/");
    BOOST_TEST(target("http://h/") == "/");
    BOOST_TEST(target("http://h?a=b") == "/?a=b");
    BOOST_TEST(target("http://h/a/../b%20c?d=e&f?g") == "/a/../b%20c?d=e&f?g");
    BOOST_TEST(target("http://h/t/{{attr.tenant}}?g={{group}}&k={{body:/kind}}") == "/t/acme?g=g%201&k=new");
    BOOST_TEST(target("http://h/{{body:/path~1odd}}?") == "/a%20b?");
}

BOOST_AUTO_TEST_CASE(no_value_leaves_its_place_in_a_url)
{
    auto const url = "http://h/t/{{attr.tenant}}/x?q={{attr.tenant}}";
    struct {
        char const *value, *target;
    } const table[] = {{"a/b", "/t/a%2Fb/x?q=a%2Fb"}, {"a?b#c", "/t/a%3Fb%23c/x?q=a%3Fb%23c"},
        {"a&b=c", "/t/a%26b%3Dc/x?q=a%26b%3Dc"}, {"a\r\nHost: b", "/t/a%0D%0AHost%3A%20b/x?q=a%0D%0AHost%3A%20b"},
        {"%2e%2e", "/t/%252e%252e/x?q=%252e%252e"}, {"\xc3\xa4", "/t/%C3%A4/x?q=%C3%A4"}, {"@b", "/t/%40b/x?q=%40b"},
        {"...", "/t/.../x?q=..."}, {"a/..b", "/t/a%2F..b/x?q=a%2F..b"}};
    for (auto const& row : table)
        BOOST_TEST(target(url, with_tenant(row.value)) == row.target);
    for (auto const* value : {"", ".", "..", "../admin/wipe", "a/../..", "a/..", "..\\b", "./x", "a\\."}) {
        auto const m = with_tenant(value);
        BOOST_TEST(!url_template::parse(url).value().target({m, orders_queue}).has_value(), value);
    }
    auto const half = with_tenant(".");
    BOOST_TEST(!url_template::parse("http://h/.{{attr.tenant}}").value().target({half, orders_queue}).has_value());
    BOOST_TEST(target("http://h/?q={{attr.tenant}}", with_tenant("..")) == "/?q=..");
    std::string const long_one(9'000, 'x');
    auto const m = with_tenant(long_one);
    BOOST_TEST(!url_template::parse(url).value().target({m, orders_queue}).has_value());
}

BOOST_AUTO_TEST_CASE(a_url_that_could_lead_elsewhere_is_refused)
{
    for (auto const* url : {"", "host/x", "ftp://h/", "http:///x", "http://{{attr.tenant}}/", "http://h.{{id}}",
             "http://h:{{id}}/", "http://user@h/", "http://h/#part", "http://h/a b", "http://h/{{", "http://h/{{no}}",
             "http://h/a\r\nb", "http://h:0/", "http://h/{x}"})
        BOOST_TEST(!url_template::parse(url).has_value(), url);
}

BOOST_AUTO_TEST_CASE(a_queues_name_is_in_its_url)
{
    auto const q = queue_name::from_url("https://sqs.eu-west-1.amazonaws.com/123456789012/orders.fifo", "eu-west-1");
    BOOST_TEST(q.name == "orders.fifo");
    BOOST_TEST(q.arn == "arn:aws:sqs:eu-west-1:123456789012:orders.fifo");
}

BOOST_AUTO_TEST_SUITE_END()
