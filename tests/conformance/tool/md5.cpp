#include "suites.hpp"

#include <quern/core/detail/md5.hpp>
#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/digest.hpp>
#include <quern/sqs/detail/checksums.hpp>
#include <quern/sqs/detail/failures.hpp>
#include <quern/sqs/detail/md5.hpp>

#include <boost/json.hpp>

#include <map>
#include <stdexcept>

namespace quern::conformance {

using namespace quern::detail;
using namespace quern::sqs::detail;

namespace {

constexpr std::string_view wrong_digest = "00000000000000000000000000000000";

std::string decoded(std::string_view base64)
{
    auto bytes = text::base64_decode(base64);
    if (!bytes) throw std::runtime_error("\"" + std::string(base64) + "\" is not base64");
    return std::move(*bytes);
}

sqs::attribute_map attributes_in(json::value const& vector)
{
    sqs::attribute_map out;
    for (auto const& [name, value] : vector.at("attributes").as_object()) {
        sqs::attribute_value attribute;
        attribute.data_type = text_at(value, "DataType");
        auto const* const binary = find(value, "BinaryValue");
        attribute.value = binary ? decoded(text_at(value, "BinaryValue")) : text_at(value, "StringValue");
        out.emplace(name, std::move(attribute));
    }
    return out;
}

bool has_lists(json::value const& vector)
{
    for (auto const& member : vector.at("attributes").as_object()) {
        if (find(member.value(), "StringListValues") || find(member.value(), "BinaryListValues")) return true;
    }
    return false;
}

/// The service reserves lists for later and Quern cannot send them, so their part of the algorithm stands here only:
/// like single values, with the transport types 3 and 4 and one length and value an element (AWS SDK for Java).
std::string md5_with_lists(json::value const& vector)
{
    std::string text;
    auto const append = [&](std::string_view part) {
        for (int shift = 24; shift >= 0; shift -= 8)
            text.push_back(static_cast<char>(part.size() >> shift & 0xff));
        text += part;
    };
    std::map<std::string, json::value> sorted;
    for (auto const& member : vector.at("attributes").as_object())
        sorted.emplace(member.key(), member.value());
    for (auto const& [name, value] : sorted) {
        append(name);
        append(text_at(value, "DataType"));
        if (find(value, "StringValue")) {
            text.push_back(1);
            append(text_at(value, "StringValue"));
        } else if (find(value, "BinaryValue")) {
            text.push_back(2);
            append(decoded(text_at(value, "BinaryValue")));
        } else if (find(value, "StringListValues")) {
            text.push_back(3);
            for (auto const& element : list_at(value, "StringListValues"))
                append(element.as_string());
        } else {
            text.push_back(4);
            for (auto const& element : list_at(value, "BinaryListValues"))
                append(decoded(element.as_string()));
        }
    }
    return text::hex(md5(text));
}

void run_vector(json::value const& vector, checked_case& verdict)
{
    auto const expected = text_at(vector, "md5");
    if (find(vector, "body"))
        verdict.equal("md5 of the body", expected, sqs::detail::md5_of_body(text_at(vector, "body")));
    if (!find(vector, "attributes")) {
        if (!find(vector, "body")) verdict.fail("neither a body nor attributes");
        return;
    }
    auto const actual = has_lists(vector) ? md5_with_lists(vector) : md5_of_attributes(attributes_in(vector));
    verdict.equal("md5 of the attributes", expected, actual);
}

std::string joined(std::vector<std::string> const& parts)
{
    std::string out;
    for (auto const& part : parts)
        out += (out.empty() ? "" : ", ") + part;
    return out;
}

/// The elements as texts, also where they are numbers.
std::vector<std::string> texts_at(json::value const& in, std::string_view member)
{
    std::vector<std::string> out;
    for (auto const& element : list_at(in, member)) {
        out.push_back(element.is_string() ? std::string(element.as_string()) : json::serialize(element));
    }
    return out;
}

bool contains(std::vector<std::string> const& list, std::string const& value)
{
    return std::find(list.begin(), list.end(), value) != list.end();
}

void check_send(json::value const& fact, checked_case& verdict)
{
    sqs::send_message_request const sent("https://sqs.us-east-1.amazonaws.com/1/q", text_at(fact, "body"));
    sqs::send_message_response answer;
    answer.md5_of_body = text_at(fact, "md5");
    verdict.equal_flag("accepted", flag_at(fact, "valid", true), !verify(sent, answer));
}

void check_send_batch(json::value const& fact, checked_case& verdict)
{
    auto const refused = texts_at(fact, "failed");
    auto const bad = texts_at(fact, "bad");
    auto const digests = find(fact, "md5s");
    sqs::send_message_batch_request sent;
    sqs::send_message_batch_response answer;
    for (auto const& id : texts_at(fact, "ids")) {
        sent.entries.emplace_back(id, text_at(fact, "body"));
        if (contains(refused, id)) {
            answer.failed.push_back({id, "InternalError", "", false});
            continue;
        }
        sqs::sent_message done;
        done.id = id;
        done.md5_of_body = digests ? text_at(*digests, id) : sqs::detail::md5_of_body(text_at(fact, "body"));
        if (contains(bad, id)) done.md5_of_body = wrong_digest;
        answer.successful.push_back(done);
    }
    verify(sent, answer);
    std::vector<std::string> invalid;
    for (auto const& entry : answer.failed) {
        if (entry.code == checksum_mismatch_code) invalid.push_back(entry.id);
    }
    verdict.equal("entries stored wrongly", joined(texts_at(fact, "invalid")), joined(invalid));
}

void check_receive(json::value const& fact, checked_case& verdict)
{
    auto const bad = texts_at(fact, "bad");
    auto const count =
        bad.empty() ? 1 : 4; // "one of four"; without a body there is one message, and no digest either
    auto const good = sqs::detail::md5_of_body("test");
    sqs::receive_message_response answer;
    for (int i = 0; i < count; ++i) {
        sqs::message received;
        if (!bad.empty()) {
            received.body = "test";
            received.md5_of_body = contains(bad, std::to_string(i)) ? wrong_digest : std::string_view(good);
        }
        answer.messages.push_back(received);
    }
    verify(answer);
    std::vector<std::string> invalid;
    for (auto const& message : answer.damaged)
        invalid.push_back(std::to_string(message.position));
    verdict.equal("damaged messages", joined(texts_at(fact, "invalid")), joined(invalid));
}

void run_fact(json::value const& fact, report& results)
{
    auto const operation = text_at(fact, "op");
    auto const name = operation + ", " + text_at(fact, "name");
    if (operation != "SendMessage" && operation != "SendMessageBatch" && operation != "ReceiveMessage") {
        results.skip(name, "nothing is compared, see sqs::client_options::verify_checksums");
        return;
    }
    checked_case verdict(results, name);
    if (operation == "SendMessage")
        check_send(fact, verdict);
    else if (operation == "SendMessageBatch")
        check_send_batch(fact, verdict);
    else
        check_receive(fact, verdict);
}

} // namespace

void run_md5(fs::path const& path, report& results)
{
    for (auto const& file : json_files(path)) {
        auto const vectors = read_json(file);
        for (auto const& vector : list_at(vectors, "attribute_vectors")) {
            checked_case verdict(results, text_at(vector, "id"));
            try {
                run_vector(vector, verdict);
            } catch (std::exception const& e) {
                verdict.fail(e.what());
            }
        }
        for (auto const& fact : list_at(vectors, "checksum_behaviour_facts"))
            run_fact(fact, results);
    }
}

} // namespace quern::conformance
