#include <quern/broker/detail/query_form.hpp>

#include <quern/broker/detail/errors.hpp>
#include <quern/broker/detail/wire_decode.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/detail/text/reading.hpp>

#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <map>
#include <optional>

namespace quern::broker::detail {

using namespace quern::detail;

namespace {

using text::json_writer;

constexpr std::size_t most_parameters = 2000; // ten entries with ten attributes each are some 400
constexpr std::ptrdiff_t most_parts = 10;

/// Positions in their order: "2" before "10".
struct by_position {
    bool operator()(std::string const& a, std::string const& b) const
    {
        return a.size() != b.size() ? a.size() < b.size() : a < b;
    }
};

/// Parameters by the parts of their names.
struct node {
    std::optional<std::string> value;
    std::map<std::string, node, by_position> parts;

    std::string text(std::string const& part) const
    {
        auto const at = parts.find(part);
        return at == parts.end() ? std::string() : at->second.value.value_or("");
    }
};

/// How a member that is no plain text is named here and there.
struct member_shape {
    enum class kind { number, texts, structures, text_map, structure_map };
    std::string_view query_name, json_name;
    kind what;
    std::string_view key = {}; ///< of a map's entries
};

using kind = member_shape::kind;
constexpr member_shape member_shapes[] = {
    {"AWSAccountId", "AWSAccountIds", kind::texts},
    {"ActionName", "Actions", kind::texts},
    {"Attribute", "Attributes", kind::text_map, "Name"},
    {"AttributeName", "AttributeNames", kind::texts},
    {"BinaryListValue", "BinaryListValues", kind::texts},
    {"ChangeMessageVisibilityBatchRequestEntry", "Entries", kind::structures},
    {"DelaySeconds", "DelaySeconds", kind::number},
    {"DeleteMessageBatchRequestEntry", "Entries", kind::structures},
    {"MaxNumberOfMessages", "MaxNumberOfMessages", kind::number},
    {"MaxNumberOfMessagesPerSecond", "MaxNumberOfMessagesPerSecond", kind::number},
    {"MaxResults", "MaxResults", kind::number},
    {"MessageAttribute", "MessageAttributes", kind::structure_map, "Name"},
    {"MessageAttributeName", "MessageAttributeNames", kind::texts},
    {"MessageSystemAttribute", "MessageSystemAttributes", kind::structure_map, "Name"},
    {"MessageSystemAttributeName", "MessageSystemAttributeNames", kind::texts},
    {"SendMessageBatchRequestEntry", "Entries", kind::structures},
    {"StringListValue", "StringListValues", kind::texts},
    {"Tag", "Tags", kind::text_map, "Key"},
    {"TagKey", "TagKeys", kind::texts},
    {"VisibilityTimeout", "VisibilityTimeout", kind::number},
    {"WaitTimeSeconds", "WaitTimeSeconds", kind::number},
};

void write_members(node const& from, json_writer& out, std::string_view action);

/// A number, or the text as it came: the decoder tells what is wrong with it.
void write_number(std::string const& text, json_writer& out)
{
    if (auto const number = text::number_in<std::int64_t>(text))
        out.integer(*number);
    else
        out.string(text);
}

void write_object(node const& from, json_writer& out, std::string_view action)
{
    out.begin_object();
    write_members(from, out, action);
    out.end_object();
}

void write_shape(member_shape const& as, node const& from, json_writer& out, std::string_view action)
{
    auto const each = [&](auto write) {
        for (auto const& [position, one] : from.parts)
            write(one);
    };
    switch (as.what) {
    case kind::number: write_number(from.value.value_or(""), out); return;
    case kind::texts:
        out.begin_array();
        if (from.value && !from.value->empty()) out.string(*from.value);
        each([&](node const& one) { out.string(one.value.value_or("")); });
        out.end_array();
        return;
    case kind::structures:
        out.begin_array();
        each([&](node const& one) { write_object(one, out, action); });
        out.end_array();
        return;
    case kind::text_map:
    case kind::structure_map: {
        auto const write_entry = [&](node const& one) {
            out.key(one.text(std::string(as.key)));
            auto const value = one.parts.find("Value");
            if (as.what == kind::text_map)
                out.string(one.text("Value"));
            else
                write_object(value == one.parts.end() ? node() : value->second, out, action);
        };
        out.begin_object();
        if (from.parts.contains(std::string(as.key)))
            write_entry(from); // the API reference of 2012 has single ones without a position
        else
            each(write_entry);
        out.end_object();
        return;
    }
    }
}

void write_members(node const& from, json_writer& out, std::string_view action)
{
    for (auto const& [name, one] : from.parts) {
        auto known = std::ranges::find(member_shapes, std::string_view(name), &member_shape::query_name);
        // An empty list or map comes under its own name, without a value: "Entries=".
        if (known == std::end(member_shapes) && one.value == "" && one.parts.empty())
            known = std::ranges::find(member_shapes, std::string_view(name), &member_shape::json_name);
        if (known == std::end(member_shapes)) {
            if (one.value) out.member(name, std::string_view(*one.value));
            continue;
        }
        bool const lower = known->json_name == "Tags" && action == "CreateQueue"; // the model names them so
        out.key(lower ? "tags" : known->json_name);
        write_shape(*known, one, out, action);
    }
}

std::string decoded(std::string_view text)
{
    std::string spaced(text);
    std::ranges::replace(spaced, '+', ' ');
    return text::percent_decoded(spaced);
}

/// Shows each "name=value" of a form, until it is enough. False: it was, or they are too many.
template <class Use>
bool each_parameter(std::string_view form, std::size_t& count, Use use)
{
    while (!form.empty()) {
        auto const end = std::min(form.find('&'), form.size());
        auto const one = form.substr(0, end);
        form.remove_prefix(std::min(end + 1, form.size()));
        if (!one.empty() && (++count > most_parameters || !use(one))) return false;
    }
    return true;
}

/// Adds "a.1.b=c&…". False when there is too much of it.
bool add_parameters(std::string_view form, node& root, std::size_t& count)
{
    return each_parameter(form, count, [&](std::string_view one) {
        auto const equals = std::min(one.find('='), one.size());
        auto const name = decoded(one.substr(0, equals));
        if (std::ranges::count(name, '.') >= most_parts) return false;
        auto* at = &root;
        std::string_view left = name;
        for (auto dot = left.find('.'); dot != left.npos; dot = left.find('.')) {
            at = &at->parts[std::string(left.substr(0, dot))];
            left.remove_prefix(dot + 1);
        }
        at->parts[std::string(left)].value = decoded(one.substr(std::min(equals + 1, one.size())));
        return true;
    });
}

} // namespace

bool is_query_call(net::detail::http_request const& request)
{
    constexpr std::string_view form = "application/x-www-form-urlencoded";
    auto const type = request.fields.find("content-type");
    if (request.method == "POST") return boost::beast::iequals(type.substr(0, form.size()), form);
    auto const query = request.query();
    return request.method == "GET" && (query.starts_with("Action=") || query.find("&Action=") != query.npos);
}

std::string action_of(net::detail::http_request const& request)
{
    constexpr std::size_t most_of_action = 256;
    std::string out;
    std::size_t count = 0;
    auto const look_at = [&](std::string_view form) {
        each_parameter(form, count, [&](std::string_view one) {
            if (one.starts_with("Action=")) out = decoded(one.substr(7, most_of_action));
            return true;
        });
    };
    look_at(request.query());
    if (request.method != "GET") look_at(request.body);
    return out;
}

result<query_call> read_query_call(net::detail::http_request const& request)
{
    node root;
    std::size_t count = 0;
    bool const fits = add_parameters(request.query(), root, count) &&
        (request.method == "GET" || add_parameters(request.body, root, count));
    if (!fits) return fail(error::serialization, "The request has too many parameters, or one of too many parts.");

    auto const path = request.path();
    if (!root.parts.contains("QueueUrl") && std::ranges::count(path, '/') >= 2)
        root.parts["QueueUrl"].value = text::percent_decoded(path);

    query_call out;
    out.action = root.text("Action");
    json_writer json(out.json);
    write_object(root, json, out.action);
    out.json.reserve(out.json.size() + wire_decoder::padding);
    return out;
}

} // namespace quern::broker::detail
