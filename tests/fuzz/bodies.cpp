// What senders write into bodies, and what a table's rows hold.

#include "target.hpp"

#include <quern/consumer/delivery.hpp>
#include <quern/consumer/outcome.hpp>
#include <quern/consumer/s3_pointer.hpp>
#include <quern/consumer/sns.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/simdjson.hpp>
#include <quern/idempotency/detail/row.hpp>
#include <quern/idempotency/key.hpp>
#include <quern/services/detail/dynamodb_wire.hpp>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace quern::fuzz {

namespace {

using idempotency::flavour;

constexpr flavour flavours[] = {flavour::quern, flavour::python, flavour::typescript, flavour::java};

delivery letter_with(std::string_view body)
{
    sqs::message m;
    m.id = "1";
    m.body = body;
    m.attributes.push_back({"ExtendedPayloadSize", "Number", "300000"});
    return {std::move(m), nullptr, real_clock()};
}

} // namespace

void sns_envelope(std::string_view bytes)
{
    try {
        auto const read = read_sns(bytes);
        for (auto const& one : read.attributes)
            must(read.find(one.name) != nullptr, "each attribute of an envelope is found by its name");
    } catch (parse_error const&) {
    }
}

void s3_pointer(std::string_view bytes)
{
    auto const letter = letter_with(bytes);
    try {
        auto const at = read_s3_pointer(bytes, letter);
        must(at && !at->bucket.empty() && !at->key.empty(), "a pointer names a bucket and a key");
    } catch (parse_error const&) {
    }
}

/// Keys of handlers that must not repeat, made of the body: the part behind \x1e names them.
void idempotency_key(std::string_view bytes)
{
    auto const half = bytes.find('\x1e');
    auto const letter = letter_with(bytes.substr(0, half));
    auto const source =
        idempotency::key_source::parse(half == bytes.npos ? "body" : std::string_view(bytes.substr(half + 1)));
    if (!source) return;
    auto const found = source->key_in(letter);
    if (!found) return;
    must(found == source->value_in(letter), "a key is what was found");
    for (auto const as : flavours) {
        auto const key = idempotency::make_key(as, "orders", *found);
        must(key == idempotency::make_key(as, "orders", *found), "the same message has the same key");
        must(key.starts_with("orders#"), "a key begins with its prefix");
    }
}

void dynamodb_answer(std::string_view bytes)
{
    using namespace services;
    if (bytes.empty()) return;
    auto const which = static_cast<std::uint8_t>(bytes.front()) % 4;
    bytes.remove_prefix(1);
    if (which == 1) {
        std::ignore = services::detail::decode(describe_table_request("t"), bytes);
        std::ignore = services::detail::decode(describe_time_to_live_request("t"), bytes);
        return;
    }
    if (which == 2) {
        std::ignore = services::detail::decode(batch_execute_statement_request(std::vector<statement>()), bytes);
        return;
    }
    auto found = which == 3 ? services::detail::item_in(bytes) : std::nullopt;
    if (which == 0) {
        auto const answer = services::detail::decode(get_item_request("t", {}), bytes);
        if (answer) found = answer->found;
    }
    if (!found) return;
    std::ignore = services::detail::encode(put_item_request("t", *found));
    for (auto const as : flavours)
        idempotency::detail::to_record(*found, {}, as);
    for (auto const& [name, value] : *found)
        idempotency::detail::from_native(value);
}

/// Text that is no UTF-8 is refused by DynamoDB, and no result is kept.
void native_value(std::string_view bytes)
{
    if (!simdjson::validate_utf8(bytes.data(), bytes.size())) return;
    auto const value = idempotency::detail::to_native(bytes);
    auto const once = idempotency::detail::from_native(value);
    must(idempotency::detail::from_native(idempotency::detail::to_native(once)) == once,
        "a result that was kept once stays what it is");
}

} // namespace quern::fuzz
