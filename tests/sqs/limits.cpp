#include <quern/sqs/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>

using namespace quern::sqs;
using namespace std::chrono_literals;
using quern::errc;
using std::string;

namespace {

/// The field that the failure names; "" without a failure.
template <class Request>
string refused(Request const& request)
{
    auto const bad = check(request);
    if (!bad) return {};
    BOOST_TEST(bad->code == make_error_code(errc::invalid_request));
    return bad->message.substr(0, bad->message.find(": "));
}

send_message_request sent(std::function<void(send_message_request&)> change = [](auto&) {})
{
    send_message_request request("http://localhost/queue", "body");
    change(request);
    return request;
}

receive_message_request receive(std::function<void(receive_message_request&)> change)
{
    receive_message_request request("http://localhost/queue");
    change(request);
    return request;
}

} // namespace

BOOST_AUTO_TEST_SUITE(limits)

BOOST_AUTO_TEST_CASE(a_message_may_have_one_mebibyte_with_names_types_and_values_of_its_attributes)
{
    attribute_map const attributes{{"name", {"String.kind", "value"}}, {"b", {"Binary", string("\0\1", 2)}}};
    BOOST_TEST(message_size("body", attributes) == 4u + 4 + 11 + 5 + 1 + 6 + 2);
    BOOST_TEST(message_size("é", {}) == 2u);

    BOOST_TEST(refused(sent([](auto& r) { r.body.assign(max_message_bytes, 'x'); })) == "");
    BOOST_TEST(refused(sent([](auto& r) { r.body.assign(max_message_bytes + 1, 'x'); })) == "MessageBody");
    auto const with_attribute = [](std::size_t body_size) {
        return sent([&](auto& r) {
            r.body.assign(body_size, 'x');
            r.attributes["a"] = {"String", "v"};
        });
    };
    BOOST_TEST(refused(with_attribute(max_message_bytes - 8)) == "");
    BOOST_TEST(refused(with_attribute(max_message_bytes - 7)) == "MessageBody");
}

BOOST_AUTO_TEST_CASE(system_attributes_do_not_count)
{
    auto const traced = sent([](auto& r) {
        r.body.assign(max_message_bytes, 'x');
        r.system_attributes["AWSTraceHeader"] = {"String", "Root=1"};
    });
    BOOST_TEST(refused(traced) == "");
}

BOOST_AUTO_TEST_CASE(an_empty_body_is_refused)
{
    BOOST_TEST(refused(sent([](auto& r) { r.body.clear(); })) == "MessageBody");
}

BOOST_AUTO_TEST_CASE(text_is_utf8_of_the_characters_that_the_service_lists)
{
    for (string const good : {"", "a", "\t\r\n", " ~\x7f", "\xC2\x80", "é", "€", "\xED\x9F\xBF", "\xEE\x80\x80",
             "\xEF\xBF\xBD", "😀", "\xF4\x8F\xBF\xBF"}) {
        BOOST_TEST(is_message_text(good), good);
    }
    for (string const& bad : {string("\0", 1), string("a\0b", 3), string("\x08"), string("\x0b"), string("\x1f"),
             string("\xEF\xBF\xBE"), string("\xEF\xBF\xBF"), string("\xED\xA0\x80"), string("\xED\xBF\xBF"),
             string("\xF4\x90\x80\x80"), string("\xF8\x88\x80\x80\x80"), string("\x80"), string("\xC0\x80"),
             string("\xC1\xBF"), string("\xE0\x80\x80"), string("\xF0\x80\x80\x80"), string("\xC3"),
             string("\xE2\x82"), string("\xF0\x9F\x98"), string("\xC3("), string("ok then \xFF")}) {
        BOOST_TEST(!is_message_text(bad), bad);
    }
    BOOST_TEST(refused(sent([](auto& r) { r.body = "bell \x07"; })) == "MessageBody");
}

BOOST_AUTO_TEST_CASE(attribute_names_follow_the_rules)
{
    for (string const good : {"a", "A-b_c.9", "aws", "awsx.y", "Amazonian.x", "attr.1øßä"}) {
        BOOST_TEST(is_attribute_name(good), good);
    }
    BOOST_TEST(is_attribute_name(string(256, 'n')));
    for (string const bad : {"", ".a", "a.", "a..b", "a b", "a:b", "AWS.x", "aws.x", "aMaZoN.x", "a\xFF"}) {
        BOOST_TEST(!is_attribute_name(bad), bad);
    }
    BOOST_TEST(!is_attribute_name(string(257, 'n')));
}

BOOST_AUTO_TEST_CASE(attribute_types_have_one_of_three_bases)
{
    for (string const good : {"String", "Number", "Binary", "Number.int", "Binary.gif", "String.a.b"}) {
        BOOST_TEST(is_attribute_type(good), good);
    }
    BOOST_TEST(is_attribute_type("String." + string(249, 'l')));
    BOOST_TEST(!is_attribute_type("String." + string(250, 'l')));
    for (string const bad : {"", "string", "Strings", "Int", ".String", "StringList"}) {
        BOOST_TEST(!is_attribute_type(bad), bad);
    }
}

BOOST_AUTO_TEST_CASE(attributes_are_refused_by_name)
{
    auto const with = [](string name, string type, string value) {
        return sent([&](auto& r) { r.attributes[name] = {type, value}; });
    };
    BOOST_TEST(refused(with("a", "Binary", string("\0\xFF", 2))) == "");
    BOOST_TEST(refused(with("a b", "String", "v")) == "MessageAttributes[\"a b\"]");
    BOOST_TEST(refused(with("a", "Text", "v")) == "MessageAttributes[\"a\"].DataType");
    BOOST_TEST(refused(with("a", "String", "")) == "MessageAttributes[\"a\"]");
    BOOST_TEST(refused(with("a", "String", "\x01")) == "MessageAttributes[\"a\"].StringValue");

    auto const many = [](int count) {
        return sent([&](auto& r) {
            for (int i = 0; i != count; ++i)
                r.attributes["a" + std::to_string(i)] = {"Number", "1"};
        });
    };
    BOOST_TEST(refused(many(10)) == "");
    BOOST_TEST(refused(many(11)) == "MessageAttributes");
}

BOOST_AUTO_TEST_CASE(a_delay_lasts_0_to_900_seconds)
{
    for (auto const& [delay, field] :
        {std::pair{-1s, "DelaySeconds"}, {0s, ""}, {900s, ""}, {901s, "DelaySeconds"}}) {
        BOOST_TEST(refused(sent([&, wanted = delay](auto& r) { r.delay = wanted; })) == field);
    }
}

BOOST_AUTO_TEST_CASE(group_and_deduplication_ids_are_short_printable_and_without_spaces)
{
    for (string const& good : {string("a"), string("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), string(128, 'x')}) {
        BOOST_TEST(is_token(good), good);
    }
    for (string const& bad :
        {string(), string(129, 'x'), string("a b"), string("tab\t"), string("é"), string("\x7f")}) {
        BOOST_TEST(!is_token(bad), bad);
    }
    BOOST_TEST(refused(sent([](auto& r) { r.group_id = "group 123"; })) == "MessageGroupId");
    BOOST_TEST(refused(sent([](auto& r) { r.deduplication_id = ""; })) == "MessageDeduplicationId");
}

BOOST_AUTO_TEST_CASE(a_receive_asks_for_1_to_10_messages)
{
    for (int const count : {1, 10})
        BOOST_TEST(refused(receive([&](auto& r) { r.max_messages = count; })) == "");
    for (int const count : {-1, 0, 11}) {
        BOOST_TEST(refused(receive([&](auto& r) { r.max_messages = count; })) == "MaxNumberOfMessages");
    }
}

BOOST_AUTO_TEST_CASE(a_long_poll_waits_0_to_20_seconds_and_hides_for_at_most_12_hours)
{
    BOOST_TEST(refused(receive([](auto& r) { r.wait_time = 0s; })) == "");
    BOOST_TEST(refused(receive([](auto& r) { r.wait_time = 20s; })) == "");
    BOOST_TEST(refused(receive([](auto& r) { r.wait_time = 21s; })) == "WaitTimeSeconds");
    BOOST_TEST(refused(receive([](auto& r) { r.wait_time = -1s; })) == "WaitTimeSeconds");
    BOOST_TEST(refused(receive([](auto& r) { r.visibility_timeout = 12h; })) == "");
    BOOST_TEST(refused(receive([](auto& r) { r.visibility_timeout = 12h + 1s; })) == "VisibilityTimeout");
    BOOST_TEST(refused(receive([](auto& r) { r.attempt_id = "a b"; })) == "ReceiveRequestAttemptId");
}

BOOST_AUTO_TEST_CASE(a_visibility_timeout_lasts_0_to_43200_seconds)
{
    BOOST_TEST(refused(change_message_visibility_request("u", "h", 0s)) == "");
    BOOST_TEST(refused(change_message_visibility_request("u", "h", 43'200s)) == "");
    BOOST_TEST(refused(change_message_visibility_request("u", "h", 43'201s)) == "VisibilityTimeout");
    BOOST_TEST(refused(change_message_visibility_request("u", "h", -1s)) == "VisibilityTimeout");
    std::vector<change_visibility_entry> entries{{"a", "h", 5s}, {"b", "h", 43'201s}};
    BOOST_TEST(refused(change_message_visibility_batch_request("u", entries)) == "Entries[1].VisibilityTimeout");
}

BOOST_AUTO_TEST_CASE(a_batch_has_1_to_10_entries_with_distinct_ids)
{
    auto const batch = [](std::vector<string> ids) {
        std::vector<delete_message_entry> entries;
        for (auto const& id : ids)
            entries.emplace_back(id, "handle");
        return delete_message_batch_request("u", entries);
    };
    BOOST_TEST(refused(batch({})) == "Entries");
    BOOST_TEST(refused(batch({"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})) == "");
    BOOST_TEST(refused(batch({"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a"})) == "Entries");
    BOOST_TEST(refused(batch({"a", "b", "a"})) == "Entries[2].Id");
    BOOST_TEST(refused(batch({"a", ""})) == "Entries[1].Id");
    BOOST_TEST(refused(batch({"a.b"})) == "Entries[0].Id");
    BOOST_TEST(refused(batch({string(80, 'i')})) == "");
    BOOST_TEST(refused(batch({string(81, 'i')})) == "Entries[0].Id");
    BOOST_TEST(refused(delete_message_batch_request("u", {{"a", ""}})) == "Entries[0].ReceiptHandle");
}

BOOST_AUTO_TEST_CASE(the_messages_of_a_batch_have_one_mebibyte_together)
{
    auto const batch = [](std::size_t first, std::size_t second) {
        return send_message_batch_request("u", {{"a", string(first, 'x')}, {"b", string(second, 'x')}});
    };
    BOOST_TEST(refused(batch(max_message_bytes / 2, max_message_bytes / 2)) == "");
    BOOST_TEST(refused(batch(max_message_bytes / 2, max_message_bytes / 2 + 1)) == "Entries");
    BOOST_TEST(refused(batch(1, max_message_bytes + 1)) == "Entries[1].MessageBody");
    BOOST_TEST(refused(send_message_batch_request("u", {{"a", "x"}, {"b", ""}})) == "Entries[1].MessageBody");
}

BOOST_AUTO_TEST_CASE(queue_names_are_words_and_may_end_in_fifo)
{
    for (string const& good :
        {string("q"), string("Q-1_x"), string("q.fifo"), string(80, 'q'), string(75, 'q') + ".fifo"}) {
        BOOST_TEST(refused(create_queue_request(good)) == "", good);
    }
    for (string const& bad : {string(), string(81, 'q'), string(76, 'q') + ".fifo", string(".fifo"), string("a.b"),
             string("q.FIFO"), string("q ")}) {
        BOOST_TEST(refused(create_queue_request(bad)) == "QueueName", bad);
    }
}

BOOST_AUTO_TEST_SUITE_END()
