#include <quern/consumer/delivery.hpp>
#include <quern/consumer/tenant.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace quern;

namespace {

std::string name_by(tenant_rule const& rule, std::string const& body = "{}")
{
    sqs::message m;
    m.id = "059f36b4-87a3-44ab-83d2-661975830a7d";
    m.body = body;
    m.system_attributes.push_back({"MessageGroupId", "acme"});
    m.attributes.push_back({"tenant", "String", "initech"});
    m.attributes.push_back({"number", "Number", "7"});
    m.attributes.push_back({"bytes", "Binary", "\x01\x02"});
    return rule(delivery(std::move(m), {}, real_clock()));
}

} // namespace

BOOST_AUTO_TEST_SUITE(tenants)

BOOST_AUTO_TEST_CASE(a_tenant_is_named_by_group_attribute_body_or_function)
{
    BOOST_TEST(name_by(by_group()) == "acme");
    BOOST_TEST(by_group().system_attribute() == "MessageGroupId");
    BOOST_TEST(name_by(by_attribute("tenant")) == "initech");
    BOOST_TEST(name_by(by_attribute("number")) == "7");
    BOOST_TEST(name_by(by_attribute("bytes")).empty());
    BOOST_TEST(name_by(by_attribute("none")).empty());
    BOOST_TEST(by_attribute("tenant").attribute() == "tenant");
    BOOST_TEST(
        name_by(by_body("/customer/id"), R"({"customer":{"id":12345678901234567890}})") == "12345678901234567890");
    BOOST_TEST(name_by(by_body("/customer/id"), R"({"customer":{"id":"a/b"}})") == "a/b");
    BOOST_TEST(name_by(by_body("/customer"), R"({"customer":{"id":"a/b"}})").empty());
    BOOST_TEST(name_by(by_body("/customer"), "no JSON").empty());
    BOOST_TEST(name_by([](delivery const& d) { return std::string(d.body().substr(0, 1)); }, "{}") == "{");
    BOOST_TEST(!tenant_rule());
}

BOOST_AUTO_TEST_CASE(the_text_of_an_option_says_which)
{
    BOOST_TEST(name_by(tenant_rule::parse("group").value()) == "acme");
    BOOST_TEST(name_by(tenant_rule::parse("attribute:tenant").value()) == "initech");
    BOOST_TEST(name_by(tenant_rule::parse("body:/a~1b/0").value(), R"({"a/b":["x"]})") == "x");
    for (auto const* const wrong :
        {"", "Group", "group ", "attribute:", "attribute", "body:", "body:customer", "tenant"})
        BOOST_TEST((tenant_rule::parse(wrong).error().code == errc::invalid_option), wrong);
}

BOOST_AUTO_TEST_SUITE_END()
