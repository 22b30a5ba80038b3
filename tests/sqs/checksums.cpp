#include <quern/sqs/detail/checksums.hpp>
#include <quern/sqs/detail/failures.hpp>
#include <quern/sqs/detail/md5.hpp>

#include <quern/core/detail/text/base64.hpp>

#include <support/conformance.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::sqs;
using namespace quern::sqs::detail;
using quern::errc;
using std::string;

namespace {

string const test_digest = "098f6bcd4621d373cade4e832627b4f6"; // of "test"

sent_message stored(string id, string digest = test_digest)
{
    sent_message out;
    out.id = std::move(id);
    out.message_id = "m";
    out.md5_of_body = std::move(digest);
    return out;
}

message arrived(std::string_view id, std::string_view digest = test_digest)
{
    message m;
    m.id = id;
    m.body = "test";
    m.md5_of_body = digest;
    return m;
}

std::vector<message_attribute> as_received(attribute_map const& sent)
{
    std::vector<message_attribute> out;
    for (auto const& [name, value] : sent)
        out.insert(out.begin(), {name, value.data_type, value.value}); // backwards
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(checksums)

BOOST_AUTO_TEST_CASE(digests_of_bodies_are_those_of_the_service)
{
    BOOST_TEST(md5_of_body("test") == test_digest);
    BOOST_TEST(md5_of_body(R"({"message_index":1})") == "4504dd781f625d681c31cda87e260702");
}

BOOST_AUTO_TEST_CASE(digests_of_attributes_are_those_of_the_service)
{
    // Recorded answers of the service (LocalStack snapshots of test_sqs; npm aws-md5-of-message-attributes).
    std::vector<std::pair<attribute_map, string>> const recorded = {
        {{{"Hello", {"String", "There"}}}, "a311262e065454b75da111d535b8dacd"},
        {{{"Hello", {"String", "There"}}, {"General", {"String", "Kenobi"}}}, "fca026605781cb4126a1e9044df24232"},
        {{{"Hello", {"String", "There"}}, {"General", {"String", "Kenobi"}}, {"Help.Me", {"String", "Me"}}},
            "4c360f3fdafd970e05fae2f149d997f5"},
        {{{"Foo", {"String", "Bar"}}}, "ae7155c6026991b6d54b11589678bf9c"},
        {{{"attr1",
             {"Binary",
                 "traceparent\x1e"
                 "00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01"}}},
            "8cbe4db156db8a94db8b801b7addb984"},
        {{{"AWSTraceHeader",
             {"String", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"}}},
            "5ae4d5d7636402d80f4eb6d213245a88"},
        {{{"customNumberTypeAttrib", {"Number.float", "4563442423554324324264524243.32543234"}}},
            "9fe1b90bbd9965bdf77bac517c7d2495"},
    };
    for (auto const& [attributes, digest] : recorded) {
        BOOST_TEST(md5_of_attributes(attributes) == digest);
        BOOST_TEST(md5_of_attributes(as_received(attributes)) == digest);
    }
}

BOOST_AUTO_TEST_CASE(the_vectors_beside_the_source_tree_hold)
{
    auto const file = quern::test::conformance_json("09-message-md5/vectors.json");
    if (!file) return;
    int tried = 0;
    for (auto const& each : file->at("attribute_vectors").as_array()) {
        attribute_map attributes;
        bool has_list = false; // SQS takes none, and Quern has none
        for (auto const& [name, value] : each.at("attributes").as_object()) {
            auto const& fields = value.as_object();
            auto& out = attributes[name];
            out.data_type = fields.at("DataType").as_string();
            if (fields.contains("StringValue")) {
                out.value = fields.at("StringValue").as_string();
            } else if (fields.contains("BinaryValue")) {
                out.value = quern::detail::text::base64_decode(fields.at("BinaryValue").as_string()).value();
            } else {
                has_list = true;
            }
        }
        if (has_list) continue;
        ++tried;
        BOOST_TEST(md5_of_attributes(attributes) == each.at("md5").as_string(), each.at("id").as_string());
    }
    BOOST_TEST(tried >= 8);
}

BOOST_AUTO_TEST_CASE(a_message_stored_as_sent_passes_and_a_missing_digest_too)
{
    send_message_request const sent("u", "test");
    send_message_response answer;
    BOOST_TEST(!verify(sent, answer));
    answer.md5_of_body = test_digest;
    BOOST_TEST(!verify(sent, answer));
    answer.md5_of_attributes = "of attributes that this caller did not send";
    BOOST_TEST(!verify(sent, answer));
}

BOOST_AUTO_TEST_CASE(a_message_stored_otherwise_fails_and_must_not_be_sent_again)
{
    send_message_request sent("u", "test");
    sent.attributes["Hello"] = {"String", "There"};
    sent.system_attributes["Foo"] = {"String", "Bar"};
    auto const good = [] {
        send_message_response answer;
        answer.md5_of_body = test_digest;
        answer.md5_of_attributes = "a311262e065454b75da111d535b8dacd";
        answer.md5_of_system_attributes = "ae7155c6026991b6d54b11589678bf9c";
        return answer;
    };
    BOOST_TEST(!verify(sent, good()));
    for (auto const digest : {&send_message_response::md5_of_body, &send_message_response::md5_of_attributes,
             &send_message_response::md5_of_system_attributes}) {
        auto answer = good();
        (answer.*digest)[0] ^= 1;
        auto const bad = verify(sent, answer);
        BOOST_REQUIRE(bad.has_value());
        BOOST_TEST(bad->code == make_error_code(errc::checksum_mismatch));
        BOOST_TEST(!bad->retryable);
    }
}

BOOST_AUTO_TEST_CASE(of_a_batch_only_the_entry_stored_otherwise_fails)
{
    send_message_batch_request const sent("u", {{"1", "test"}, {"2", "test"}, {"3", "test"}, {"4", "test"}});
    send_message_batch_response answer;
    answer.successful = {stored("1"), stored("3", string(32, '0')), stored("4"), stored("unknown", "x")};
    answer.failed.push_back({"2", "InternalError", "", false});
    verify(sent, answer);
    BOOST_REQUIRE(answer.successful.size() == 3u);
    BOOST_TEST(answer.successful[1].id == "4");
    BOOST_REQUIRE(answer.failed.size() == 2u);
    BOOST_TEST(answer.failed[1].id == "3");
    BOOST_TEST(answer.failed[1].code == checksum_mismatch_code);
}

BOOST_AUTO_TEST_CASE(of_received_messages_only_the_one_that_does_not_match_is_damaged)
{
    receive_message_response answer;
    answer.messages = {arrived("0"), arrived("1", ""), arrived("3", "0"), arrived("4")};
    answer.damaged.push_back({2, message(), quern::failure(errc::bad_reply, "unreadable")});
    verify(answer);
    BOOST_REQUIRE(answer.messages.size() == 3u);
    BOOST_TEST(answer.messages[2].id == "4");
    BOOST_REQUIRE(answer.damaged.size() == 2u);
    BOOST_TEST(answer.damaged[0].position == 2u);
    BOOST_TEST(answer.damaged[1].position == 3u);
    BOOST_TEST(answer.damaged[1].known.id == "3");
    BOOST_TEST(answer.damaged[1].why.code == make_error_code(errc::checksum_mismatch));
}

BOOST_AUTO_TEST_CASE(received_attributes_are_checked_where_there_are_any)
{
    receive_message_response answer;
    answer.messages = {arrived("0"), arrived("1"), arrived("2")};
    for (auto& m : answer.messages)
        m.md5_of_attributes = "a311262e065454b75da111d535b8dacd";
    answer.messages[1].attributes.push_back({"Hello", "String", "There"});
    answer.messages[2].attributes.push_back({"Hello", "String", "You"});
    verify(answer);
    BOOST_TEST(answer.messages.size() == 2u);
    BOOST_REQUIRE(answer.damaged.size() == 1u);
    BOOST_TEST(answer.damaged[0].position == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
