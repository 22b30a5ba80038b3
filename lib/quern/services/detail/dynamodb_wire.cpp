#include <quern/services/detail/dynamodb_wire.hpp>

#include <quern/core/detail/printable.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/simdjson.hpp>

#include <utility>
#include <vector>

namespace quern::services {

std::optional<std::string> find(item const& in, std::string_view name, std::string_view type)
{
    auto const at = in.find(name);
    if (at == in.end() || at->second.type != type) return {};
    return at->second.value;
}

} // namespace quern::services

namespace quern::services::detail {

using namespace quern::detail;

namespace {

namespace dom = simdjson::dom;

void write(text::json_writer& to, attribute const& a)
{
    to.begin_object().key(a.type);
    if (a.type == "S" || a.type == "N" || a.type == "B")
        to.string(a.value);
    else
        to.number(a.value); // JSON as it is
    to.end_object();
}

void write(text::json_writer& to, item const& what)
{
    to.begin_object();
    for (auto const& [name, value] : what)
        write(to.key(name), value);
    to.end_object();
}

void write(text::json_writer& to, condition const& when)
{
    if (!when.text.empty()) {
        to.member("ConditionExpression", when.text);
        to.member("ReturnValuesOnConditionCheckFailure", "ALL_OLD");
    }
    if (!when.names.empty()) {
        to.key("ExpressionAttributeNames").begin_object();
        for (auto const& [name, stands_for] : when.names)
            to.member(name, stands_for);
        to.end_object();
    }
    if (!when.values.empty()) write(to.key("ExpressionAttributeValues"), when.values);
}

/// A request about a table, with what `rest` adds to its object.
template <class Rest>
std::string about(std::string const& table, Rest const& rest)
{
    std::string out;
    text::json_writer to(out);
    to.begin_object().member("TableName", table);
    rest(to);
    to.end_object();
    return out;
}

void nothing_more(text::json_writer&) {}

dom::parser& parser()
{
    thread_local dom::parser one;
    return one;
}

bool parse(std::string_view body, dom::element& to)
{
    return parser().parse(body.data(), body.size()).get(to) == simdjson::SUCCESS;
}

failure malformed(std::string_view what)
{
    return {errc::bad_reply, std::string(what)};
}

std::string text_at(dom::element in, std::string_view name)
{
    std::string_view out;
    if (in[name].get(out) != simdjson::SUCCESS) return {};
    return std::string(out);
}

std::optional<item> read_item(dom::element from)
{
    dom::object members;
    if (from.get(members) != simdjson::SUCCESS) return {};
    item out;
    for (auto const member : members) {
        dom::object value;
        if (member.value.get(value) != simdjson::SUCCESS || value.size() != 1) return {};
        auto const typed = *value.begin();
        attribute one;
        one.type = typed.key;
        std::string_view plain;
        if (typed.value.get(plain) != simdjson::SUCCESS)
            one.value = simdjson::minify(typed.value);
        else
            one.value = plain;
        out.insert_or_assign(std::string(member.key), std::move(one));
    }
    return out;
}

std::optional<item> item_at(dom::element in)
{
    dom::element found;
    if (in["Item"].get(found) != simdjson::SUCCESS) return {};
    return read_item(found);
}

failure failure_of(dom::element error)
{
    failure why(errc::service_error, printable(text_at(error, "Message")));
    if (why.message.empty()) why.message = printable(text_at(error, "message"));
    why.service_code = printable(text_at(error, "Code"));
    auto const& code = why.service_code;
    bool const throttled =
        code == "ThrottlingError" || code == "ProvisionedThroughputExceeded" || code == "RequestLimitExceeded";
    if (throttled) why.code = errc::throttled;
    why.retryable = throttled || code == "TransactionConflict" || code == "InternalServerError";
    return why;
}

} // namespace

std::optional<item> item_in(std::string_view refused)
{
    dom::element all;
    if (!parse(refused, all)) return {};
    return item_at(all);
}

std::string encode(get_item_request const& r)
{
    return about(r.table, [&](text::json_writer& to) {
        write(to.key("Key"), r.key);
        to.member("ConsistentRead", r.consistent);
    });
}

std::string encode(put_item_request const& r)
{
    return about(r.table, [&](text::json_writer& to) {
        write(to.key("Item"), r.what);
        write(to, r.when);
    });
}

std::string encode(update_item_request const& r)
{
    return about(r.table, [&](text::json_writer& to) {
        write(to.key("Key"), r.key);
        to.member("UpdateExpression", r.update);
        write(to, r.when);
    });
}

std::string encode(delete_item_request const& r)
{
    return about(r.table, [&](text::json_writer& to) {
        write(to.key("Key"), r.key);
        write(to, r.when);
    });
}

std::string encode(batch_execute_statement_request const& r)
{
    std::string out;
    text::json_writer to(out);
    to.begin_object().key("Statements").begin_array();
    for (auto const& s : r.statements) {
        to.begin_object().member("Statement", s.text);
        if (!s.parameters.empty()) {
            to.key("Parameters").begin_array();
            for (auto const& p : s.parameters)
                write(to, p);
            to.end_array();
        }
        to.member("ReturnValuesOnConditionCheckFailure", "ALL_OLD").end_object();
    }
    to.end_array().end_object();
    return out;
}

std::string encode(create_table_request const& r)
{
    std::vector<std::pair<std::string const&, char const*>> keys{{r.hash_key, "HASH"}};
    if (!r.sort_key.empty()) keys.emplace_back(r.sort_key, "RANGE");
    return about(r.table, [&](text::json_writer& to) {
        to.key("AttributeDefinitions").begin_array();
        for (auto const& [name, kind] : keys)
            to.begin_object().member("AttributeName", name).member("AttributeType", "S").end_object();
        to.end_array().key("KeySchema").begin_array();
        for (auto const& [name, kind] : keys)
            to.begin_object().member("AttributeName", name).member("KeyType", kind).end_object();
        to.end_array().member("BillingMode", "PAY_PER_REQUEST");
    });
}

std::string encode(describe_table_request const& r)
{
    return about(r.table, nothing_more);
}

std::string encode(update_time_to_live_request const& r)
{
    return about(r.table, [&](text::json_writer& to) {
        to.key("TimeToLiveSpecification").begin_object();
        to.member("Enabled", true).member("AttributeName", r.attribute).end_object();
    });
}

std::string encode(describe_time_to_live_request const& r)
{
    return about(r.table, nothing_more);
}

result<get_item_request::response> decode(get_item_request const&, std::string_view body)
{
    dom::element all, found;
    if (!parse(body, all) || !all.is_object()) return malformed("GetItem was answered by what is no JSON object");
    get_item_request::response out;
    if (all["Item"].get(found) != simdjson::SUCCESS) return out;
    out.found = read_item(found);
    if (!out.found) return malformed("Item: not a map of typed values");
    return out;
}

result<write_response> decode_write(std::string_view body)
{
    dom::element all;
    if (!parse(body, all) || !all.is_object()) return malformed("a write was answered by what is no JSON object");
    return write_response();
}

result<batch_execute_statement_request::response> decode(
    batch_execute_statement_request const& r, std::string_view body)
{
    dom::element all;
    dom::array answers;
    if (!parse(body, all) || all["Responses"].get(answers) != simdjson::SUCCESS)
        return malformed("Responses: missing");
    batch_execute_statement_request::response out;
    for (auto const one : answers) {
        auto& entry = out.emplace_back();
        dom::element error;
        if (!one.is_object()) return malformed("Responses: one is no JSON object");
        if (one["Error"].get(error) != simdjson::SUCCESS) continue; // it succeeded
        entry.failed = failure_of(error);
        entry.found = item_at(error);
        if (!entry.found) entry.found = item_at(one);
    }
    if (out.size() != r.statements.size()) return malformed("Responses: not as many as statements");
    return out;
}

result<create_table_request::response> decode(create_table_request const&, std::string_view body)
{
    dom::element all, table;
    if (!parse(body, all) || all["TableDescription"].get(table) != simdjson::SUCCESS)
        return malformed("TableDescription: missing");
    return create_table_request::response{text_at(table, "TableStatus")};
}

result<describe_table_request::response> decode(describe_table_request const&, std::string_view body)
{
    dom::element all, table;
    dom::array keys;
    if (!parse(body, all) || all["Table"].get(table) != simdjson::SUCCESS) return malformed("Table: missing");
    describe_table_request::response out;
    out.status = text_at(table, "TableStatus");
    out.arn = text_at(table, "TableArn");
    dom::element billing;
    if (table["BillingModeSummary"].get(billing) == simdjson::SUCCESS) out.billing = text_at(billing, "BillingMode");
    [[maybe_unused]] auto const no_items = table["ItemCount"].get(out.items);
    [[maybe_unused]] auto const no_bytes = table["TableSizeBytes"].get(out.bytes);
    if (table["KeySchema"].get(keys) != simdjson::SUCCESS) return malformed("KeySchema: missing");
    for (auto const key : keys)
        (text_at(key, "KeyType") == "HASH" ? out.hash_key : out.sort_key) = text_at(key, "AttributeName");
    return out;
}

result<update_time_to_live_request::response> decode(update_time_to_live_request const&, std::string_view)
{
    return update_time_to_live_request::response();
}

result<describe_time_to_live_request::response> decode(describe_time_to_live_request const&, std::string_view body)
{
    dom::element all, found;
    if (!parse(body, all) || all["TimeToLiveDescription"].get(found) != simdjson::SUCCESS)
        return malformed("TimeToLiveDescription: missing");
    return describe_time_to_live_request::response{
        text_at(found, "TimeToLiveStatus"), text_at(found, "AttributeName")};
}

} // namespace quern::services::detail
