#include <quern/redrive/saved.hpp>

#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/simdjson.hpp>
#include <quern/sqs/detail/copy.hpp>
#include <quern/sqs/limits.hpp>

#include <optional>
#include <utility>

namespace quern::redrive {

using namespace quern::detail;

namespace {

namespace dom = simdjson::dom;

bool is_binary(std::string_view type)
{
    return type.starts_with("Binary");
}

void write(text::json_writer& to, char const* name, std::string_view text)
{
    if (!text.empty()) to.member(name, text);
}

/// The text there; nothing when there is none, or it is something else.
std::optional<std::string> text_of(dom::object const& from, char const* name)
{
    std::string_view out;
    if (from[name].get(out) != simdjson::SUCCESS) return {};
    return std::string(out);
}

failure wrong(std::string what)
{
    return failure(errc::invalid_request, std::move(what));
}

std::optional<failure> read_attribute(dom::element const& from, sqs::attribute_map& to)
{
    dom::object it;
    if (from.get(it) != simdjson::SUCCESS) return wrong("an attribute is no object");
    auto const name = text_of(it, "name"), type = text_of(it, "type");
    if (!name || !type) return wrong("an attribute lacks its name or its type");
    auto value = text_of(it, is_binary(*type) ? "base64" : "value");
    if (!value) return wrong("attribute " + *name + " has no value");
    if (is_binary(*type)) value = text::base64_decode(*value);
    if (!value) return wrong("attribute " + *name + " is no base64");
    if (!to.try_emplace(*name, sqs::attribute_value{*type, *value}).second)
        return wrong("attribute " + *name + " is there twice");
    return {};
}

} // namespace

std::string saved_line(sqs::message const& m)
{
    std::string out;
    text::json_writer to(out);
    to.begin_object();
    to.member("message_id", m.id);
    if (auto const at = m.sent_at()) to.member("sent_at", sqs::detail::rfc3339_ms(*at));
    if (auto const at = m.first_received_at()) to.member("first_received_at", sqs::detail::rfc3339_ms(*at));
    to.member("receive_count", m.receive_count());
    write(to, "source", m.system("DeadLetterQueueSourceArn"));
    write(to, "group", m.group_id());
    write(to, "deduplication_id", m.system("MessageDeduplicationId"));
    write(to, "trace_header", m.system("AWSTraceHeader"));
    to.key("attributes").begin_array();
    for (auto const& a : m.attributes) {
        to.begin_object().member("name", a.name).member("type", a.data_type);
        if (is_binary(a.data_type))
            to.key("base64").base64(a.value);
        else
            to.member("value", a.value);
        to.end_object();
    }
    to.end_array();
    to.member("body", m.body);
    to.end_object();
    out += '\n';
    return out;
}

result<saved_message> parse_saved(std::string_view line, bool to_fifo)
{
    dom::parser parser;
    dom::object from;
    simdjson::padded_string const padded(line);
    if (parser.parse(padded).get(from) != simdjson::SUCCESS) return wrong("it is no JSON object");
    auto const id = text_of(from, "message_id"), body = text_of(from, "body");
    if (!id || id->empty()) return wrong("it has no message_id");
    if (!body) return wrong("it has no body");
    saved_message out;
    out.id = *id;
    out.copy.body = *body;
    dom::array attributes;
    if (from["attributes"].get(attributes) != simdjson::SUCCESS) return wrong("it has no attributes");
    for (auto const one : attributes)
        if (auto bad = read_attribute(one, out.copy.attributes)) return *bad;
    if (auto const trace = text_of(from, "trace_header"))
        out.copy.system_attributes.try_emplace("AWSTraceHeader", sqs::attribute_value{"String", *trace});
    out.copy.group_id = text_of(from, "group");
    if (!to_fifo) return out;
    if (!out.copy.group_id) out.copy.group_id = out.id;
    out.copy.deduplication_id = out.id;
    return out;
}

} // namespace quern::redrive
