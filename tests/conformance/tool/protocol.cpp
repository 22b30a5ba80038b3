#include "suites.hpp"

#include <quern/aws/detail/error_reply.hpp>
#include <quern/aws/detail/signing/json_signer.hpp>
#include <quern/sqs/detail/decode.hpp>
#include <quern/sqs/types.hpp>

#include <boost/json.hpp>

using namespace quern::aws::detail;

namespace quern::conformance {
namespace {

json::value parsed(std::string const& text)
{
    json::error_code ec;
    auto value = json::parse(text, ec);
    return ec ? json::value(text) : value;
}

/// A request without input, as the signer writes it.
void run_empty_request(json::value const& metadata, json::value const& given, checked_case& out)
{
    auto const& expected = given.at("serialized");
    auto const host = text_at(expected, "host", "example.com");
    auto const slash = std::min(host.find('/'), host.size());
    json_target target;
    target.host = host.substr(0, slash);
    target.path = host.substr(slash);
    target.region = "us-east-1";
    target.service = "service";
    target.target_prefix = text_at(metadata, "targetPrefix");
    target.version = text_at(metadata, "jsonVersion") == "1.1" ? json_version::v1_1 : json_version::v1_0;
    target.query_compatible = find(metadata, "awsQueryCompatible") != nullptr;
    json_signer signer(target);
    aws::credentials const keys{"AKID", "secret", ""};
    auto const text = signer.request(text_at(part(given, "given"), "name"), "{}", keys, wall_time());

    auto const end = text.find("\r\n\r\n");
    auto const request_line = text_at(expected, "method") + ' ' + text_at(expected, "uri") + " HTTP/1.1";
    out.equal("request line", request_line, text.substr(0, text.find("\r\n")));
    if (auto const* const body = find(expected, "body"))
        out.equal("body", json::serialize(parsed(std::string(body->as_string()))),
            json::serialize(parsed(text.substr(end + 4))));
    net::headers sent;
    for (auto at = text.find("\r\n") + 2; at < end;) {
        auto const line_end = text.find("\r\n", at);
        auto const colon = text.find(": ", at);
        sent.add(text.substr(at, colon - at), text.substr(colon + 2, line_end - colon - 2));
        at = line_end + 2;
    }
    auto const* const headers = find(expected, "headers");
    if (!headers) return;
    for (auto const& [name, value] : headers->as_object())
        out.equal(name, value.as_string(), sent.find(name));
}

void run_error(json::value const& given, checked_case& out)
{
    auto const& response = given.at("response");
    net::headers fields;
    if (auto const* const headers = find(response, "headers")) {
        for (auto const& [name, value] : headers->as_object())
            fields.add(name, value.as_string());
    }
    auto const status = static_cast<int>(number_at(response, "status_code", 0));
    auto const why = decode_error(status, fields, text_at(response, "body"));
    out.equal("code", text_at(given, "errorCode"), why.service_code);
    out.equal_number("status", status, why.http_status);
    if (find(given, "errorMessage")) out.equal("message", text_at(given, "errorMessage"), why.message);
}

/// An answer that says nothing, whatever stands in it: one without members, and one whose members are all optional.
void run_empty_answer(json::value const& given, checked_case& out)
{
    sqs::detail::decoder in;
    auto body = text_at(given.at("response"), "body");
    auto const nothing = in.read<sqs::empty_response>(body);
    if (!nothing) out.fail(nothing.error().message);
    auto const optional = in.read<sqs::attributes_response>(body);
    if (!optional)
        out.fail(optional.error().message);
    else
        out.equal_number("attributes", 0, static_cast<double>(optional->attributes.size()));
}

bool is_empty(json::value const* object)
{
    return !object || (object->is_object() && object->get_object().empty());
}

/// The part of the case that SQS has none of; empty when the case says something about SQS.
std::string_view foreign_to_sqs(json::value const& given)
{
    auto const& operation = part(given, "given");
    auto const name = text_at(operation, "name");
    if (find(operation, "endpoint")) return "no operation of SQS puts a prefix before the host";
    if (find(operation, "requestcompression")) return "SQS takes no compressed requests";
    if (name == "JsonUnions") return "the model of SQS has no unions";
    if (name == "SimpleScalarProperties") return "the model of SQS has no floating-point numbers";
    return {};
}

void run_case(json::value const& suite, json::value const& given, std::string const& name, report& results)
{
    bool const is_request = find(given, "serialized") && is_empty(find(given, "params"));
    bool const is_error = find(given, "errorCode") && find(given, "response");
    bool const is_answer = !is_error && find(given, "response") && is_empty(find(given, "result"));
    auto why_not = foreign_to_sqs(given);
    if (why_not.empty() && !is_request && !is_error && !is_answer)
        why_not = "its shapes are not in the model of SQS: tests/sqs/service_model.cpp checks those that are";
    if (!why_not.empty()) return results.skip(name, why_not);

    checked_case out(results, name);
    try {
        if (is_request)
            run_empty_request(part(suite, "metadata"), given, out);
        else if (is_error)
            run_error(given, out);
        else
            run_empty_answer(given, out);
    } catch (std::exception const& e) {
        out.fail(e.what());
    }
}

} // namespace

void run_protocol(fs::path const& path, report& results)
{
    for (auto const& file : json_files(path)) {
        auto const suites = read_json(file);
        if (!suites.is_array()) throw std::runtime_error(file.string() + " is no list of protocol tests");
        for (auto const& suite : suites.as_array()) {
            for (auto const& given : list_at(suite, "cases"))
                run_case(suite, given, text_at(given, "id"), results);
        }
    }
}

} // namespace quern::conformance
