#include "target.hpp"

#include <quern/aws/detail/signing/verify.hpp>
#include <quern/broker/detail/front_end.hpp>
#include <quern/broker/detail/move_task.hpp>
#include <quern/broker/detail/query_form.hpp>
#include <quern/broker/detail/receipt.hpp>
#include <quern/broker/detail/redrive_policy.hpp>
#include <quern/broker/detail/wire_decode.hpp>
#include <quern/core/simdjson.hpp>
#include <quern/net/detail/http_request.hpp>
#include <quern/sqs/types.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>

namespace quern::fuzz {

namespace {

using namespace quern::broker::detail;
using namespace quern::aws::detail;
using namespace std::chrono_literals;

net::detail::http_request request_of(std::string_view operation, std::string_view body)
{
    net::detail::http_request out;
    out.method = "POST";
    out.target = "/";
    out.fields.add("Host", "localhost");
    out.fields.add("X-Amz-Target", "AmazonSQS." + std::string(operation));
    out.fields.add("Content-Type", "application/x-amz-json-1.0");
    out.body.reserve(body.size() + wire_decoder::padding);
    out.body = body;
    return out;
}

front_end quiet_broker()
{
    broker::engine_options engine;
    engine.seed = 1;
    broker::server_options server;
    server.check_signatures = false;
    server.admin = true;
    return front_end(engine, server);
}

} // namespace

/// A few requests to one broker, a line each: a letter for the operation, in the order of their names, and its JSON;
/// a line that begins with '?' is a form, one with '/' the target of a GET.
void broker(std::string_view bytes)
{
    auto door = quiet_broker();
    auto now = quern::broker::instant(24h * 365 * 50);
    broker::detail::http_answer answer;
    auto const serve = [&](net::detail::http_request const& request) {
        door.serve(request, "http://localhost:9324", now, now, answer);
        now += 1s;
    };
    serve(request_of("CreateQueue", R"({"QueueName":"q"})"));
    serve(request_of("CreateQueue", R"({"QueueName":"q.fifo","Attributes":{"FifoQueue":"true"}})"));
    for (int lines = 0; lines != 16 && !bytes.empty(); ++lines) {
        auto const end = std::min(bytes.find('\n'), bytes.size());
        auto line = bytes.substr(0, end);
        bytes.remove_prefix(std::min(end + 1, bytes.size()));
        if (line.empty()) continue;
        auto const first = line.front();
        line.remove_prefix(1);
        if (first == '?' || first == '/') {
            auto request = request_of("", first == '?' ? line : std::string_view());
            request.fields.clear();
            request.fields.add("Host", "localhost");
            if (first == '?') request.fields.add("Content-Type", "application/x-www-form-urlencoded");
            if (first == '/') request.method = "GET";
            if (first == '/') request.target = '/' + std::string(line);
            serve(request);
        } else {
            auto const which = static_cast<std::uint8_t>(first - 'A') % front_end::operation_count;
            serve(request_of(front_end::operation_name(which), line));
        }
    }
}

void form_request(std::string_view bytes)
{
    net::detail::http_request request;
    request.method = "POST";
    request.target = "/";
    request.fields.add("Content-Type", "application/x-www-form-urlencoded");
    request.body = bytes;
    auto const read = read_query_call(request);
    if (!read) return;
    simdjson::dom::parser parser;
    simdjson::dom::element whole;
    auto const ec = parser.parse(read->json).get(whole);
    must(ec == simdjson::SUCCESS || ec == simdjson::UTF8_ERROR, "a form becomes JSON");
}

void json_request(std::string_view bytes)
{
    static wire_decoder decoder;
    if (bytes.empty()) return;
    auto const which = static_cast<std::uint8_t>(bytes.front()) % 6;
    std::string padded(bytes.substr(1));
    padded.reserve(padded.size() + wire_decoder::padding);
    switch (which) {
    case 0: std::ignore = decoder.decode<sqs::send_message_request>(padded); break;
    case 1: std::ignore = decoder.decode<sqs::send_message_batch_request>(padded); break;
    case 2: std::ignore = decoder.decode<sqs::receive_message_request>(padded); break;
    case 3: std::ignore = decoder.decode<sqs::create_queue_request>(padded); break;
    case 4: std::ignore = decoder.decode<sqs::change_message_visibility_batch_request>(padded); break;
    default: std::ignore = decoder.decode<sqs::delete_message_batch_request>(padded); break;
    }
}

void receipt_handle(std::string_view bytes)
{
    receipt_codec const codec(receipt_key_of(1));
    if (auto const read = codec.read(bytes)) {
        std::string again(receipt_codec::size, '\0');
        codec.write(*read, again.data());
        must(again == bytes, "a handle that is believed is one that was written");
    }
    if (auto const read = decode_task_handle(bytes))
        must(decode_task_handle(encode(*read)).has_value(), "a task handle can be written again");
    if (auto const read = parse_redrive_policy(bytes))
        must(parse_redrive_policy(to_json(*read)).has_value(), "a policy can be written again");
}

void signature(std::string_view bytes)
{
    auto const line = std::min(bytes.find('\n'), bytes.size());
    request_view request{"GET", bytes.substr(0, line), {}, {}};
    request.headers.push_back({"authorization", bytes.substr(line)});
    request.headers.push_back({"x-amz-date", "20260101T000000Z"});
    request.headers.push_back({"host", "localhost"});
    claimed_caller(request);
    verifier checks([](std::string_view) { return aws::credentials{"quern", "quern", ""}; });
    must(!checks.check(request, wall_time(24h * 365 * 56)), "nobody guesses a signature");
}

} // namespace quern::fuzz
