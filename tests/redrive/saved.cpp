// Messages in a file: what comes back from a line is what was written to it.

#include <quern/redrive/saved.hpp>

#include <quern/sqs/detail/copy.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace quern;
using namespace quern::redrive;

namespace {

std::string const bytes = [] {
    std::string out;
    for (int i = 0; i < 256; ++i)
        out += static_cast<char>(i);
    return out;
}();

sqs::message letter()
{
    sqs::message m;
    m.id = "30ea7123-59df-46d6-8b66-037694bbd9dc";
    m.receipt_handle = "handle";
    m.body = "quote \" back \\ tab \t line \n return \r ü 漢 \xf0\x9f\x98\x80";
    m.attributes = {{"text", "String", "v"}, {"label", "String.my.label", "\"\\\t"}, {"n", "Number", "-1.50e3"},
        {"money", "Number.eur", "007"}, {"raw", "Binary", bytes},
        {"png", "Binary.png", std::string_view(bytes).substr(0, 1)}};
    m.system_attributes = {{"SentTimestamp", "1767000000123"}, {"ApproximateReceiveCount", "4"},
        {"AWSTraceHeader", "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1"}, {"MessageGroupId", "g"},
        {"DeadLetterQueueSourceArn", "arn:aws:sqs:eu-west-1:1:orders"}};
    return m;
}

std::string line_of(sqs::message const& m)
{
    auto line = saved_line(m);
    BOOST_REQUIRE(line.ends_with('\n'));
    line.pop_back();
    BOOST_TEST(line.find('\n') == line.npos);
    return line;
}

} // namespace

BOOST_AUTO_TEST_SUITE(redrive_saved)

BOOST_AUTO_TEST_CASE(body_attributes_of_every_type_trace_header_and_group_come_back_as_they_were)
{
    auto const m = letter();
    auto const got = parse_saved(line_of(m), false).value();
    auto const wanted = sqs::detail::copy_of(m);
    BOOST_TEST(got.id == m.id);
    BOOST_TEST(got.copy.body == wanted.body);
    BOOST_TEST(got.copy.attributes.size() == 6u);
    BOOST_TEST(got.copy.attributes == wanted.attributes);
    BOOST_TEST(got.copy.system_attributes == wanted.system_attributes);
    BOOST_TEST(got.copy.group_id.value() == "g");
    BOOST_TEST(!got.copy.deduplication_id);
}

BOOST_AUTO_TEST_CASE(a_plain_message_has_nothing_added)
{
    sqs::message m;
    m.id = "id";
    m.body = "b";
    auto const got = parse_saved(line_of(m), false).value();
    BOOST_TEST(got.copy.attributes.empty());
    BOOST_TEST(got.copy.system_attributes.empty());
    BOOST_TEST(!got.copy.group_id);
}

BOOST_AUTO_TEST_CASE(to_a_fifo_queue_a_message_goes_once_and_alone_where_it_had_no_group)
{
    sqs::message m;
    m.id = "id";
    m.body = "b";
    auto const alone = parse_saved(line_of(m), true).value();
    BOOST_TEST(alone.copy.group_id.value() == "id");
    BOOST_TEST(alone.copy.deduplication_id.value() == "id");
    BOOST_TEST(parse_saved(line_of(letter()), true).value().copy.group_id.value() == "g");
}

BOOST_AUTO_TEST_CASE(a_line_that_is_no_message_says_why)
{
    struct row {
        char const *line, *why;
    };
    row const rows[] = {
        {"", "it is no JSON object"},
        {"[1]", "it is no JSON object"},
        {R"({"body":"b","attributes":[]})", "it has no message_id"},
        {R"({"message_id":"i","attributes":[]})", "it has no body"},
        {R"({"message_id":"i","body":"b"})", "it has no attributes"},
        {R"({"message_id":"i","body":"b","attributes":[7]})", "an attribute is no object"},
        {R"({"message_id":"i","body":"b","attributes":[{"name":"a"}]})", "an attribute lacks its name or its type"},
        {R"({"message_id":"i","body":"b","attributes":[{"name":"a","type":"String"}]})", "attribute a has no value"},
        {R"({"message_id":"i","body":"b","attributes":[{"name":"a","type":"Binary","base64":"?"}]})",
            "attribute a is no base64"},
    };
    for (auto const& [line, why] : rows) {
        auto const got = parse_saved(line, false);
        BOOST_REQUIRE(!got);
        BOOST_TEST(got.error().message == why);
    }
}

BOOST_AUTO_TEST_SUITE_END()
