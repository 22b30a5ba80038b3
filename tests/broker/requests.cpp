#include "service.hpp"

using namespace quern::test;
using boost::test_tools::per_element;

namespace {

/// The complaint of SQS about a message with this attribute; "" when it takes it.
std::string refused(std::string name, std::string type, std::string value)
{
    service s;
    sqs::send_message_request request(s.create("q"), "test");
    request.attributes[std::move(name)] = {std::move(type), std::move(value)};
    auto const outcome = s.engine.send_message(request, s.now);
    return outcome ? "" : outcome.error().service_code;
}

} // namespace

BOOST_AUTO_TEST_SUITE(requests)

BOOST_AUTO_TEST_CASE(a_message_may_have_exactly_the_queues_size)
{
    service s;
    auto const url = s.create("q", {{"MaximumMessageSize", "1024"}});
    BOOST_TEST(s.engine.send_message({url, std::string(1024, 'a')}, s.now).has_value());
    sqs::send_message_request request(url, std::string(1024 - 7, 'a'));
    request.attributes["k"] = {"String", "x"};
    BOOST_TEST(why(s.engine.send_message(request, s.now)) ==
        "InvalidParameterValue: One or more parameters are invalid. Reason: Message must be shorter than 1024 "
        "bytes.");
    request.body.pop_back();
    BOOST_TEST(s.engine.send_message(request, s.now).has_value());
}

BOOST_AUTO_TEST_CASE(bodies_with_forbidden_characters_are_refused_alone)
{
    service s;
    auto const url = s.create("q");
    BOOST_TEST(s.engine.send_message({url, "\"\t\r\n\xF0\x9F\x98\x80"}, s.now).has_value());
    for (std::string const& body : {std::string(1, '\0'), std::string("\x08"), std::string("\xEF\xBF\xBF")}) {
        BOOST_TEST(s.engine.send_message({url, body}, s.now).error().service_code == "InvalidMessageContents");
    }
    auto const answer = s.engine.send_message_batch({url, {{"0", "a"}, {"1", "\x01"}, {"2", "b"}}}, s.now).value();
    BOOST_REQUIRE(answer.failed.size() == 1u);
    BOOST_TEST(answer.failed[0].id == "1");
    BOOST_TEST(answer.failed[0].code == "InvalidMessageContents");
    BOOST_TEST(answer.failed[0].sender_fault);
    BOOST_TEST(s.counts(url) == "3/0/0");
}

BOOST_AUTO_TEST_CASE(attributes_are_checked)
{
    BOOST_TEST(refused("attr.1\xC3\xB8", "String", "Valida") == "");
    for (auto const* letter : {"\xC3\xB8", "\xC3\x9F", "\xC3\xA4", "\xC3\x80", "\xC5\xBF"})
        BOOST_TEST(refused(letter, "String", "v") == "", letter);
    for (auto const* sign : {"\xC2\xA7", "\xC3\x97", "\xC3\xB7", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"})
        BOOST_TEST(refused("a" + std::string(sign), "String", "v") == "InvalidParameterValue", sign);
    BOOST_TEST(refused("a", "Number.float", "-4563442423554324324264524243.32543234e10") == "");
    BOOST_TEST(refused("a", "Binary", std::string(1, '\0')) == "");
    BOOST_TEST(refused(std::string(256, 'L'), "String", "v") == "");
    for (auto const& name : {std::string("aWs.x"), std::string("AMAZON.x"), std::string(".x"), std::string("x."),
             std::string("a..b"), std::string("a!"), std::string("a b"), std::string(257, 'L')}) {
        BOOST_TEST(refused(name, "String", "v") == "InvalidParameterValue", name);
    }
    for (auto const& type :
        {std::string(""), std::string("Invalid"), std::string("string"), "Number." + std::string(256, 'L')}) {
        BOOST_TEST(refused("a", type, "1") == "InvalidParameterValue", type);
    }
    BOOST_TEST(refused("a", "String", "") == "InvalidParameterValue");
    BOOST_TEST(refused("a", "String", "x\x08") == "InvalidParameterValue");
    for (auto const* number : {"", "x", "1x", ".", "-", "1e", "1 "}) {
        BOOST_TEST(refused("a", "Number", number) == "InvalidParameterValue", number);
    }
}

BOOST_AUTO_TEST_CASE(an_empty_attribute_is_named)
{
    service s;
    sqs::send_message_request request(s.create("q"), "test");
    request.attributes["ErrorDetails"] = {"String", ""};
    BOOST_TEST(why(s.engine.send_message(request, s.now)) ==
        "InvalidParameterValue: Message (user) attribute 'ErrorDetails' must contain a non-empty value of type "
        "'String'.");
}

BOOST_AUTO_TEST_CASE(ten_attributes_and_one_system_attribute)
{
    service s;
    sqs::send_message_request request(s.create("q"), "test");
    for (int i = 0; i != 10; ++i)
        request.attributes["a" + std::to_string(i)] = {"String", "v"};
    request.system_attributes["AWSTraceHeader"] = {"String", "Root=1"};
    BOOST_TEST(s.engine.send_message(request, s.now).has_value());
    request.attributes["b"] = {"String", "v"};
    BOOST_TEST(s.engine.send_message(request, s.now).error().service_code == "InvalidParameterValue");
    request.attributes.clear();
    request.system_attributes["Other"] = {"String", "x"};
    BOOST_TEST(s.engine.send_message(request, s.now).error().service_code == "InvalidParameterValue");
    request.system_attributes = {{"AWSTraceHeader", {"Binary", "x"}}};
    BOOST_TEST(s.engine.send_message(request, s.now).error().service_code == "InvalidParameterValue");
}

BOOST_AUTO_TEST_CASE(delays_and_ids_are_checked)
{
    service s;
    auto const url = s.create("q");
    for (int const delay : {-1, 901}) {
        sqs::send_message_request request(url, "m");
        request.delay = std::chrono::seconds(delay);
        BOOST_TEST(why(s.engine.send_message(request, s.now)) ==
            "InvalidParameterValue: Value " + std::to_string(delay) +
                " for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.");
    }
    sqs::send_message_request request(url, "m");
    request.deduplication_id = "d";
    BOOST_TEST(why(s.engine.send_message(request, s.now)) ==
        "InvalidParameterValue: Value d for parameter MessageDeduplicationId is invalid. Reason: The request "
        "include parameter that is not valid for this queue type.");
}

BOOST_AUTO_TEST_CASE(receives_are_checked)
{
    service s;
    sqs::receive_message_request request(s.create("q"));
    for (int const most : {0, 11, -1}) {
        request.max_messages = most;
        BOOST_TEST(why(s.try_receive(request)) ==
            "InvalidParameterValue: Value " + std::to_string(most) +
                " for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.");
    }
    request.max_messages = 1;
    request.visibility_timeout = 43'201s;
    BOOST_TEST(s.try_receive(request).error().service_code == "InvalidParameterValue");
}

BOOST_AUTO_TEST_CASE(batches_are_checked_as_a_whole)
{
    service s;
    auto const url = s.create("q");
    auto const send = [&](std::vector<sqs::send_message_entry> entries) {
        return why(s.engine.send_message_batch({url, std::move(entries)}, s.now));
    };
    BOOST_TEST(send({}) ==
        "AWS.SimpleQueueService.EmptyBatchRequest: There should be at least one "
        "SendMessageBatchRequestEntry in the request.");
    BOOST_TEST(send({{"a", "x"}, {"a", "y"}}) == "AWS.SimpleQueueService.BatchEntryIdsNotDistinct: Id a repeated.");
    BOOST_TEST(send({{std::string(81, 'a'), "x"}}).starts_with("AWS.SimpleQueueService.InvalidBatchEntryId"));
    BOOST_TEST(send(std::vector<sqs::send_message_entry>(11))
                   .starts_with("AWS.SimpleQueueService.TooManyEntriesInBatchRequest: Maximum number of entries per "
                                "request are 10. You have "
                                "sent 11."));
    BOOST_TEST(send({{"a", std::string(524'288, 'x')}, {"b", std::string(524'288, 'x')}}) == "no failure");
    BOOST_TEST(s.engine.delete_message_batch({url, {}}, s.now).error().service_code ==
        "AWS.SimpleQueueService.EmptyBatchRequest");
    BOOST_TEST(s.engine.change_message_visibility_batch({url, {}}, s.now).error().service_code ==
        "AWS.SimpleQueueService.EmptyBatchRequest");
}

BOOST_AUTO_TEST_CASE(a_receive_returns_the_attributes_asked_for_and_their_digest)
{
    service s;
    auto const url = s.create("q", {{"VisibilityTimeout", "0"}});
    sqs::send_message_request request(url, "msg");
    request.attributes = {
        {"Help.Me", {"String", "Me"}}, {"Hello", {"String", "There"}}, {"General", {"String", "Kenobi"}}};
    BOOST_TEST(s.engine.send_message(request, s.now)->md5_of_attributes == "4c360f3fdafd970e05fae2f149d997f5");

    auto const received = [&](strings names) {
        sqs::receive_message_request asked(url);
        asked.attribute_names = std::move(names);
        auto const got = s.receive(asked);
        std::string out;
        for (auto const& one : got.messages.at(0).attributes)
            out += std::string(one.name) + ' ';
        return out + std::string(got.messages.at(0).md5_of_attributes);
    };
    // Digests: recorded answers of SQS.
    auto const all = "General Hello Help.Me 4c360f3fdafd970e05fae2f149d997f5";
    BOOST_TEST(received({}) == "");
    BOOST_TEST(received({"All"}) == all);
    BOOST_TEST(received({".*"}) == all);
    BOOST_TEST(received({"Foo", "Help"}) == "");
    BOOST_TEST(received({"Hello", "General"}) == "General Hello fca026605781cb4126a1e9044df24232");
    BOOST_TEST(received({"Foo", "Hello"}) == "Hello a311262e065454b75da111d535b8dacd");
    BOOST_TEST(received({"Hel.*"}).starts_with("Hello Help.Me "));
    BOOST_TEST(received({"AWS."}) == "");
    BOOST_TEST(received({"..foo"}) == "");
}

BOOST_AUTO_TEST_SUITE_END()
