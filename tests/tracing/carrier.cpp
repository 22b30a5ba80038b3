#include <quern/tracing/carrier.hpp>

#include <quern/sqs/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace quern;
using namespace quern::tracing;
using telemetry::propagators;
using telemetry::trace_context;

namespace {

constexpr char const* w3c = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr char const* xray = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

trace_context some()
{
    return telemetry::read_w3c(w3c, "a=1").value();
}

std::string text_of(std::optional<trace_context> const& c)
{
    return c ? telemetry::traceparent(*c) + ' ' + c->state : "none";
}

sqs::send_message_entry with_attributes(std::size_t count, std::string body = "b")
{
    sqs::send_message_entry out(std::move(body));
    for (std::size_t i = 0; i < count; ++i)
        out.attributes["a" + std::to_string(i)] = {"String", "v"};
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_received_message_says_where_it_is_from)
{
    struct {
        char const *parent, *type, *state, *header;
        std::string is;
    } const table[] = {
        {w3c, "String", "a=1", xray, std::string(w3c) + " a=1"},
        {w3c, "String", "", "", std::string(w3c) + " "},
        {"", "String", "a=1", xray, "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01 "},
        {"00-broken", "String", "", xray, "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01 "},
        {w3c, "Binary", "", "", "none"},
        {"", "String", "a=1", "Root=1", "none"},
        {"", "String", "", "", "none"},
    };
    for (auto const& row : table) {
        sqs::message m;
        if (*row.parent != '\0') m.attributes.push_back({"traceparent", row.type, row.parent});
        if (*row.state != '\0') m.attributes.push_back({"tracestate", "String", row.state});
        if (*row.header != '\0') m.system_attributes.push_back({"AWSTraceHeader", row.header});
        BOOST_TEST(text_of(context_of(m)) == row.is);
    }
}

BOOST_AUTO_TEST_CASE(a_context_is_written_in_the_ways_that_were_asked_for)
{
    for (bool const in_w3c : {true, false}) {
        for (bool const in_xray : {true, false}) {
            auto m = with_attributes(0);
            put_context(m, some(), propagators{in_w3c, in_xray});
            BOOST_TEST(m.attributes.contains("traceparent") == in_w3c);
            BOOST_TEST(m.attributes.contains("tracestate") == in_w3c);
            BOOST_TEST(m.system_attributes.contains("AWSTraceHeader") == in_xray);
            BOOST_TEST(!sqs::check(m).has_value());
            if (in_w3c)
                BOOST_TEST(text_of(context_of(m)) == std::string(w3c) + " a=1");
            else if (in_xray)
                BOOST_TEST(text_of(context_of(m)) == std::string(w3c) + ' ');
        }
    }
}

BOOST_AUTO_TEST_CASE(there_is_never_an_eleventh_attribute)
{
    struct {
        std::size_t there;
        bool parent, state;
    } const table[] = {{0, true, true}, {8, true, true}, {9, true, false}, {10, false, false}};
    for (auto const& row : table) {
        auto m = with_attributes(row.there);
        put_context(m, some(), propagators());
        BOOST_TEST(m.attributes.contains("traceparent") == row.parent);
        BOOST_TEST(m.attributes.contains("tracestate") == row.state);
        BOOST_TEST(m.system_attributes.contains("AWSTraceHeader")); // which does not count
        BOOST_TEST(m.attributes.size() <= sqs::max_attributes);
        BOOST_TEST(!sqs::check(m).has_value());
    }
}

BOOST_AUTO_TEST_CASE(a_message_never_grows_beyond_its_limit)
{
    constexpr std::size_t parent = 11 + 6 + 55, state = 10 + 6 + 3; // names, "String", values
    struct {
        std::size_t room;
        bool has_parent, has_state;
    } const table[] = {{parent + state, true, true}, {parent + state - 1, true, false}, {parent, true, false},
        {parent - 1, false, false}, {0, false, false}};
    for (auto const& row : table) {
        auto m = with_attributes(0, std::string(sqs::max_message_bytes - row.room, 'x'));
        put_context(m, some(), propagators());
        BOOST_TEST(m.attributes.contains("traceparent") == row.has_parent);
        BOOST_TEST(m.attributes.contains("tracestate") == row.has_state);
        BOOST_TEST(sqs::message_size(m.body, m.attributes) <= sqs::max_message_bytes);
    }
}

BOOST_AUTO_TEST_CASE(a_message_keeps_the_context_that_it_has)
{
    auto m = with_attributes(0);
    m.system_attributes["AWSTraceHeader"] = {"String", xray};
    put_context(m, some(), propagators());
    BOOST_TEST(m.attributes.empty());
    BOOST_TEST(m.system_attributes.at("AWSTraceHeader").value == xray);
}

BOOST_AUTO_TEST_CASE(a_receive_asks_for_what_is_missing)
{
    using names = std::vector<std::string>;
    struct {
        names system, user, system_then, user_then;
    } const table[] = {
        {{}, {}, {"AWSTraceHeader"}, {"traceparent", "tracestate"}},
        {{"All"}, {"All"}, {"All"}, {"All"}},
        {{"AWSTraceHeader"}, {".*"}, {"AWSTraceHeader"}, {".*"}},
        {{"SentTimestamp"}, {"shop.*", "traceparent"}, {"SentTimestamp", "AWSTraceHeader"},
            {"shop.*", "traceparent", "tracestate"}},
    };
    for (auto const& row : table) {
        sqs::receive_message_request r("url");
        r.system_attribute_names = row.system;
        r.attribute_names = row.user;
        ask_for_context(r);
        BOOST_TEST(r.system_attribute_names == row.system_then, boost::test_tools::per_element());
        BOOST_TEST(r.attribute_names == row.user_then, boost::test_tools::per_element());
        BOOST_TEST(!sqs::check(r).has_value());
    }
}
