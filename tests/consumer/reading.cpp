#include <quern/consumer/json.hpp>
#include <quern/consumer/s3_pointer.hpp>
#include <quern/consumer/sns.hpp>
#include <quern/core/clock.hpp>

#include "consumer/order.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <string>
#include <vector>

using namespace quern;
using namespace quern::test;

namespace {

/// The text of the parse_error, or "read".
std::string complaint(std::function<void()> const& read)
{
    try {
        read();
    } catch (parse_error const& e) {
        return e.what();
    }
    return "read";
}

std::string complaint_about_order(std::string const& text)
{
    return complaint([&] { read_json(text, decode); });
}

bool contains(std::string const& text, std::string const& part)
{
    return text.find(part) != text.npos;
}

/// A delivery of a message with that body, and these attributes.
struct letter {
    explicit letter(std::string_view body, std::vector<std::string_view> const& names = {})
    {
        sqs::message m;
        m.body = body;
        for (auto const& name : names)
            m.attributes.push_back({name, "Number", "300000"});
        it.emplace(std::move(m), nullptr, real_clock());
    }
    std::optional<delivery> it;
};

constexpr char const* pointer =
    R"(["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"big","s3Key":"a/1"}])";

std::string complaint_about_pointer(std::string const& text)
{
    letter const marked(text, {"ExtendedPayloadSize"});
    return complaint([&] { read_s3_pointer(text, *marked.it); });
}

} // namespace

BOOST_AUTO_TEST_SUITE(reading)

BOOST_AUTO_TEST_CASE(json_becomes_what_the_decoder_makes_of_it)
{
    auto const got = read_json(R"({"count": 3, "note": null, "item": "ro\u006cls"})", decode);
    BOOST_TEST(got.item == "rolls");
    BOOST_TEST(got.count == 3);
    auto const sum = read_json("[1, 2, 3]", [](json_document& d) {
        std::int64_t out = 0;
        for (auto part : d.get_array())
            out += std::int64_t(part);
        return out;
    });
    BOOST_TEST(sum == 6);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_told_with_its_place)
{
    struct {
        char const *text, *says;
    } const cases[] = {
        {"", "JSON, "},
        {"three rolls", "JSON, "},
        {R"({"item":"rolls"})", "member \"count\""},
        {R"({"item":"rolls","count":"three"})", "member \"count\""},
        {R"({"item":7,"count":3})", "member \"item\""},
        {R"({"item":"rolls","count":99999999999999999999})", "member \"count\""},
        {R"(["rolls",3])", "member \"item\""},
        {R"({"item":"rolls)", "JSON, "},
    };
    for (auto const& c : cases) {
        auto const said = complaint_about_order(c.text);
        BOOST_TEST(contains(said, c.says), c.text << ": " << said);
    }
    auto const said = complaint([] {
        read_json(R"([1, 2, "three"])", [](json_document& d) {
            for (auto part : d.get_array())
                static_cast<void>(std::int64_t(part));
            return 0;
        });
    });
    BOOST_TEST(contains(said, "at byte 7"), said);
}

// A body may say anything, and an error goes to the log: see consumer_options::log_bodies.
BOOST_AUTO_TEST_CASE(an_error_quotes_nothing_of_the_body)
{
    for (auto const* text : {R"({"item":"secret)", R"({"item":"a","count":"secret"})", "secret", R"({"secret":1})"})
        BOOST_TEST(!contains(complaint_about_order(text), "secret"), text);
}

BOOST_AUTO_TEST_CASE(a_decoder_may_read_another_text_meanwhile)
{
    auto const outer = [](json_document& d) {
        auto const inner = json_member<std::string>(d, "inner");
        auto const first = read_json(inner, decode);
        return first.item + json_member<std::string>(d, "after");
    };
    BOOST_TEST(read_json(R"({"inner":"{\"item\":\"rolls\",\"count\":1}","after":"!"})", outer) == "rolls!");
}

BOOST_AUTO_TEST_CASE(a_large_text_is_read_and_a_small_one_after_it)
{
    auto const text = R"({"item":")" + std::string(3'000'000, 'x') + R"(","count":1})";
    BOOST_TEST(read_json(text, decode).item.size() == 3'000'000u);
    BOOST_TEST(read_json(R"({"item":"y","count":1})", decode).item == "y");
}

BOOST_AUTO_TEST_CASE(an_exception_of_the_decoder_passes)
{
    auto const fails = [](json_document&) -> int { throw std::out_of_range("no such item"); };
    BOOST_CHECK_THROW(read_json("{}", fails), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(a_notification_of_sns_is_opened)
{
    auto const got = read_sns(R"({"Type":"Notification","MessageId":"id-1","TopicArn":"arn:aws:sns:eu-west-1:1:t",
        "Subject":"new","Message":"{\"item\":\"rolls\"}","Timestamp":"2026-11-22T10:00:00.000Z","SignatureVersion":"1",
        "Signature":"x","MessageAttributes":{"tenant":{"Type":"String","Value":"baker"},"n":{"Type":"Number","Value":"1"}}})");
    BOOST_TEST(got.message == R"({"item":"rolls"})");
    BOOST_TEST(got.message_id == "id-1");
    BOOST_TEST(got.topic_arn == "arn:aws:sns:eu-west-1:1:t");
    BOOST_TEST(got.subject == "new");
    BOOST_TEST(got.timestamp == "2026-11-22T10:00:00.000Z");
    BOOST_TEST(got.attributes.size() == 2u);
    BOOST_REQUIRE(got.find("tenant"));
    BOOST_TEST(got.find("tenant")->value == "baker");
    BOOST_TEST(!got.find("nobody"));
    BOOST_TEST(read_sns(R"({"Type":"Notification","Subject":null,"Message":""})").message.empty());
}

BOOST_AUTO_TEST_CASE(what_is_no_notification_is_told_with_its_place)
{
    struct {
        char const *text, *says;
    } const cases[] = {
        {"rolls", "JSON, "},
        {R"({"Type":"SubscriptionConfirmation","Message":"m"})", "member \"Type\""},
        {R"({"Message":"m"})", "member \"Type\""},
        {R"({"Type":"Notification"})", "member \"Message\""},
        {R"({"Type":"Notification","Message":{}})", "at byte 33"},
        {R"({"Type":"Notification","Message":"m","MessageAttributes":{"a":{"Type":"String"}}})", "member \"Value\""},
    };
    for (auto const& c : cases) {
        auto const said = complaint([&] { read_sns(c.text); });
        BOOST_TEST(contains(said, c.says), c.text << ": " << said);
    }
}

BOOST_AUTO_TEST_CASE(a_pointer_into_s3_is_one_only_when_its_message_is_marked)
{
    letter const plain(pointer);
    BOOST_TEST(!read_s3_pointer(plain.it->body(), *plain.it).has_value());
    for (auto const* mark : {"ExtendedPayloadSize", "SQSLargePayloadSize"}) {
        letter const marked(pointer, {"tenant", mark});
        auto const at = read_s3_pointer(marked.it->body(), *marked.it);
        BOOST_REQUIRE(at.has_value());
        BOOST_TEST(at->bucket == "big");
        BOOST_TEST(at->key == "a/1");
    }
    letter const old(R"(["com.amazon.sqs.javamessaging.MessageS3Pointer",{"s3BucketName":"b","s3Key":"k"}])",
        {"SQSLargePayloadSize"});
    BOOST_TEST(read_s3_pointer(old.it->body(), *old.it)->key == "k");
}

BOOST_AUTO_TEST_CASE(a_marked_message_without_a_pointer_is_told_with_its_place)
{
    struct {
        char const *text, *says;
    } const cases[] = {
        {"a large body", "JSON, "},
        {"[]", "element 0"},
        {R"(["other.Pointer",{}])", "element 0"},
        {R"(["software.amazon.payloadoffloading.PayloadS3Pointer"])", "element 1"},
        {R"(["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3Key":"k"}])", "member \"s3BucketName\""},
        {R"(["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"b","s3Key":7}])",
            "member \"s3Key\""},
        {R"(["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"b","s3Key":""}])",
            "member \"s3Key\""},
        {R"(["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"b","s3Key":"k"},1])", "element 3"},
    };
    for (auto const& c : cases) {
        auto const said = complaint_about_pointer(c.text);
        BOOST_TEST(contains(said, c.says), c.text << ": " << said);
    }
}

BOOST_AUTO_TEST_SUITE_END()
