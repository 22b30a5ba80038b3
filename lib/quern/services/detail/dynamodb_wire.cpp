#include <quern/services/detail/dynamodb_wire.hpp>

#include <quern/core/detail/printable.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/simdjson.hpp>

namespace quern::services {

std::optional<std::string> find(item const& in, std::string_view name, std::string_view type)
{
    auto const at = in.find(name);
    if (at == in.end() || at->second.type != type) return {};
    return at->second.value;
}

} // namespace quern::services

namespace quern::services::detail {
namespace {

namespace dom = simdjson::dom;

void append_attribute(std::string& to, attribute const& a)
{
    to.append("{\"").append(a.type).append("\":");
    if (a.type == "S" || a.type == "N" || a.type == "B")
        text::append_json_string(to, a.value);
    else
        to.append(a.value);
    to.push_back('}');
}

void append_member(std::string& to, std::string_view name)
{
    if (to.back() != '{') to.push_back(',');
    text::append_json_string(to, name);
    to.push_back(':');
}

void append_member(std::string& to, std::string_view name, std::string_view value)
{
    append_member(to, name);
    text::append_json_string(to, value);
}

void append_member(std::string& to, std::string_view name, item const& value)
{
    append_member(to, name);
    append_item(to, value);
}

void append_condition(std::string& to, condition const& when)
{
    if (!when.text.empty()) {
        append_member(to, "ConditionExpression", when.text);
        append_member(to, "ReturnValuesOnConditionCheckFailure", "ALL_OLD");
    }
    if (!when.names.empty()) {
        append_member(to, "ExpressionAttributeNames");
        to.push_back('{');
        for (auto const& [name, stands_for] : when.names)
            append_member(to, name, stands_for);
        to.push_back('}');
    }
    if (!when.values.empty()) append_member(to, "ExpressionAttributeValues", when.values);
}

std::string begun(std::string_view table)
{
    std::string out = "{";
    append_member(out, "TableName", table);
    return out;
}

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

result<write_response> written(std::string_view body)
{
    dom::element all;
    if (!parse(body, all) || !all.is_object()) return malformed("a write was answered by what is no JSON object");
    return write_response();
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

void append_item(std::string& to, item const& what)
{
    to.push_back('{');
    for (auto const& [name, value] : what) {
        append_member(to, name);
        append_attribute(to, value);
    }
    to.push_back('}');
}

std::optional<item> item_in(std::string_view refused)
{
    dom::element all;
    if (!parse(refused, all)) return {};
    return item_at(all);
}

std::string encode(get_item_request const& r)
{
    auto out = begun(r.table);
    append_member(out, "Key", r.key);
    append_member(out, "ConsistentRead");
    return out.append(r.consistent ? "true}" : "false}");
}

std::string encode(put_item_request const& r)
{
    auto out = begun(r.table);
    append_member(out, "Item", r.what);
    append_condition(out, r.when);
    return out + '}';
}

std::string encode(update_item_request const& r)
{
    auto out = begun(r.table);
    append_member(out, "Key", r.key);
    append_member(out, "UpdateExpression", r.update);
    append_condition(out, r.when);
    return out + '}';
}

std::string encode(delete_item_request const& r)
{
    auto out = begun(r.table);
    append_member(out, "Key", r.key);
    append_condition(out, r.when);
    return out + '}';
}

std::string encode(batch_execute_statement_request const& r)
{
    std::string out = "{\"Statements\":[";
    std::string_view before;
    for (auto const& s : r.statements) {
        out.append(before).append("{");
        append_member(out, "Statement", s.text);
        if (!s.parameters.empty()) {
            append_member(out, "Parameters");
            char separator = '[';
            for (auto const& p : s.parameters) {
                out.push_back(separator);
                append_attribute(out, p);
                separator = ',';
            }
            out.push_back(']');
        }
        append_member(out, "ReturnValuesOnConditionCheckFailure", "ALL_OLD");
        out.push_back('}');
        before = ",";
    }
    return out + "]}";
}

std::string encode(create_table_request const& r)
{
    auto out = begun(r.table);
    std::string defined, schema;
    text::json_writer names(defined), keys(schema);
    names.begin_array();
    keys.begin_array();
    auto const add = [&](std::string const& name, std::string_view kind) {
        names.begin_object().member("AttributeName", name).member("AttributeType", "S").end_object();
        keys.begin_object().member("AttributeName", name).member("KeyType", kind).end_object();
    };
    add(r.hash_key, "HASH");
    if (!r.sort_key.empty()) add(r.sort_key, "RANGE");
    names.end_array();
    keys.end_array();
    append_member(out, "AttributeDefinitions");
    out += defined;
    append_member(out, "KeySchema");
    out += schema;
    append_member(out, "BillingMode", "PAY_PER_REQUEST");
    return out + '}';
}

std::string encode(describe_table_request const& r)
{
    return begun(r.table) + '}';
}

std::string encode(update_time_to_live_request const& r)
{
    auto out = begun(r.table);
    append_member(out, "TimeToLiveSpecification");
    out += "{\"Enabled\":true,\"AttributeName\":";
    text::append_json_string(out, r.attribute);
    return out + "}}";
}

std::string encode(describe_time_to_live_request const& r)
{
    return begun(r.table) + '}';
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

result<write_response> decode(put_item_request const&, std::string_view body)
{
    return written(body);
}

result<write_response> decode(update_item_request const&, std::string_view body)
{
    return written(body);
}

result<write_response> decode(delete_item_request const&, std::string_view body)
{
    return written(body);
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
        if (one["Error"].get(error) != simdjson::SUCCESS) continue;
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
