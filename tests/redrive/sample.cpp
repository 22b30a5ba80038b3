#include <quern/redrive/sample.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace quern;
using namespace quern::redrive;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view orders = "arn:aws:sqs:us-east-1:000000000000:orders";
constexpr std::string_view billing = "arn:aws:sqs:us-east-1:000000000000:billing";

sqs::message letter(std::string_view id, std::string_view body, std::string_view receives = "2")
{
    sqs::message m;
    m.id = id;
    m.body = body;
    m.system_attributes = {{"ApproximateReceiveCount", receives}, {"SentTimestamp", "1790000000000"},
        {"ApproximateFirstReceiveTimestamp", "1790000001000"}, {"DeadLetterQueueSourceArn", orders}};
    return m;
}

std::vector<std::string> values_of(std::vector<sample_group> const& all)
{
    std::vector<std::string> out;
    for (auto const& one : all)
        out.push_back(std::to_string(one.count) + " " + (one.unreadable ? "unreadable" : one.value));
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(redrive_sample)

BOOST_AUTO_TEST_CASE(a_body_is_cut_at_the_end_of_a_character)
{
    struct row {
        std::string text;
        std::size_t bytes;
        std::string shown;
    };
    std::vector<row> const table{{"short", 5, "short"}, {"shorter", 5, "short…"}, {"", 0, ""}, {"x", 0, "…"},
        {"añb", 2, "a…"}, {"añb", 3, "añ…"}, {"€€", 5, "€…"}, {"€€", 2, "…"}, {"a\nb\x1b[2J", 4, "a b …"},
        {"\x80\x80\x80", 2, "…"},
        {"a\xff"
         "b",
            3, "a?b"}};
    for (auto const& r : table)
        BOOST_TEST(cut(r.text, r.bytes) == r.shown);
}

BOOST_AUTO_TEST_CASE(a_message_tells_its_past)
{
    sample s(10);
    auto m = letter("1", "{\"order\": 12345}", "7");
    m.attributes = {{"x-redrive-attempt", "Number", "2"},
        {"x-original-first-receive-timestamp", "String", "2026-01-02T03:04:05.678Z"},
        {"QuernReason", "String", "no\torder"}};
    m.system_attributes.push_back({"MessageGroupId", "g1"});
    BOOST_TEST(s.add(m));
    auto const& one = s.messages().at(0);
    BOOST_TEST(one.receives == 7);
    BOOST_TEST(one.attempts == 2);
    BOOST_TEST(one.first_received == "2026-01-02T03:04:05.678Z");
    BOOST_TEST(one.source == "orders");
    BOOST_TEST(one.reason == "no order");
    BOOST_TEST(one.group == "g1");
    BOOST_TEST(one.body == "{\"order\": …");
    BOOST_TEST(one.size == 16u);
    BOOST_TEST(one.sent_at == wall_time(1'790'000'000s));
}

BOOST_AUTO_TEST_CASE(a_source_is_what_sqs_says_then_what_the_consumer_wrote)
{
    sample s(10);
    s.add(letter("1", "a"));
    auto rejected = letter("2", "b");
    rejected.system_attributes.clear();
    rejected.attributes = {{"QuernSource", "String", "billing"}};
    s.add(rejected);
    auto strange = letter("3", "c");
    strange.system_attributes.clear();
    s.add(strange);
    auto both = letter("4", "d");
    both.attributes = {{"QuernSource", "String", "billing"}};
    s.add(both);
    BOOST_TEST(values_of(s.by_source()) == (std::vector<std::string>{"2 orders", "1 billing", "1 "}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(groups_are_counted_with_their_times_the_largest_first)
{
    sample s(10, parse_part("/version").value());
    auto const send = [&](std::string_view id, std::string_view body, std::string_view sent, std::string_view from,
                          std::string_view reason) {
        auto m = letter(id, body);
        m.system_attributes[1].value = sent;
        m.system_attributes[3].value = from;
        if (!reason.empty()) m.attributes = {{"QuernReason", "String", reason}};
        s.add(m);
    };
    send("1", R"({"version": 1})", "1790000005000", billing, "");
    send("2", R"({"version": 2})", "1790000003000", orders, "no order");
    send("3", R"({"version": "2"})", "1790000009000", orders, "no order");
    send("4", "no JSON", "1790000004000", orders, "");
    send("5", R"({"version": null})", "odd", orders, "too old");
    auto const sources = s.by_source();
    BOOST_TEST(
        values_of(sources) == (std::vector<std::string>{"4 orders", "1 billing"}), boost::test_tools::per_element());
    BOOST_TEST(sources[0].oldest == wall_time(1'790'000'003s));
    BOOST_TEST(sources[0].newest == wall_time(1'790'000'009s));
    BOOST_TEST(sources[0].example == "2");
    BOOST_TEST(values_of(s.by_reason()) == (std::vector<std::string>{"2 ", "2 no order", "1 too old"}),
        boost::test_tools::per_element());
    BOOST_TEST(!s.by_reason()[2].oldest.has_value());
    send("6", R"({"order": 1})", "1790000004000", orders, "");
    BOOST_TEST(values_of(s.by_part()) == (std::vector<std::string>{"2 2", "1 1", "1 unreadable", "1 null", "1 "}),
        boost::test_tools::per_element());
    BOOST_TEST(sample(10).by_part().empty());
}

BOOST_AUTO_TEST_CASE(a_message_that_comes_to_light_again_costs_a_receive)
{
    sample s(10);
    BOOST_TEST(s.add(letter("1", "a", "2")));
    BOOST_TEST(!s.add(letter("1", "a", "3")));
    BOOST_TEST(s.receives() == 2u);
    BOOST_REQUIRE(s.messages().size() == 1u);
    BOOST_TEST(s.messages()[0].receives == 3);
}

BOOST_AUTO_TEST_CASE(messages_at_their_last_receive_are_counted)
{
    sample s(10);
    s.add(letter("1", "a", "2"));
    s.add(letter("2", "a", "3"));
    s.add(letter("3", "a", "4"));
    BOOST_TEST(s.at_their_last(3) == 2u);
    BOOST_TEST(s.at_their_last(5) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
