#include <quern/idempotency/key.hpp>

#include <quern/core/detail/md5.hpp>
#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/digest.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/detail/text/trimmed.hpp>
#include <quern/idempotency/detail/canonical.hpp>
#include <quern/sqs/detail/copy.hpp>

#include <algorithm>
#include <array>

namespace quern::idempotency {

using namespace quern::detail;

namespace {

constexpr std::array<std::string_view, 4> flavours{"quern", "python", "typescript", "java"};

std::string quoted(std::string_view text)
{
    std::string out;
    text::append_json_string(out, text);
    return out;
}

std::optional<std::string> quoted_if_any(std::string_view text)
{
    if (text.empty()) return {};
    return quoted(text);
}

/// Null, an empty text, list or object, or a list of nothing but nulls and such lists: no key, since all messages
/// without one would be the same work. `json` is compact.
bool is_empty(std::string_view json)
{
    return json == R"("")" || json == "{}" || json.find_first_not_of("[],nul") == json.npos;
}

std::optional<std::string> found_in_body(std::string_view body, std::vector<std::string> const& pointers)
{
    if (pointers.size() == 1) return detail::json_at(body, pointers.front());
    std::string list = "[";
    for (auto const& pointer : pointers) {
        auto const one = detail::json_at(body, pointer);
        if (!one) return {};
        if (list.size() != 1) list += ',';
        list += *one;
    }
    return list + ']';
}

} // namespace

std::string_view name_of(flavour f)
{
    return flavours.at(static_cast<std::size_t>(f));
}

std::optional<flavour> flavour_named(std::string_view name)
{
    for (std::size_t i = 0; i < flavours.size(); ++i)
        if (flavours[i] == name) return static_cast<flavour>(i);
    return {};
}

result<key_source> key_source::parse(std::string_view text)
{
    key_source out;
    auto const after = [&](std::string_view start) {
        return text.starts_with(start) && text.size() > start.size() ? text.substr(start.size()) : std::string_view();
    };
    if (text == "message-id") return out;
    if (text == "deduplication-id") {
        out.what = kind::deduplication_id;
        return out;
    }
    if (text == "body") {
        out.what = kind::whole_body;
        return out;
    }
    if (auto const name = after("attribute:"); !name.empty()) {
        out.what = kind::attribute;
        out.names.emplace_back(name);
        return out;
    }
    if (auto rest = after("body:"); !rest.empty()) {
        out.what = kind::body;
        while (!rest.empty()) {
            auto const one = rest.substr(0, rest.find(",/"));
            if (!one.starts_with('/')) {
                return failure(errc::invalid_option,
                    "\"" + std::string(one) + "\" is no JSON pointer: it begins with a slash, as /order/id does");
            }
            out.names.emplace_back(one);
            rest.remove_prefix(std::min(one.size() + 1, rest.size()));
        }
        return out;
    }
    return failure(errc::invalid_option,
        "\"" + std::string(text) +
            "\" is no key: message-id, deduplication-id, attribute:NAME, body:/json/pointer or body");
}

std::optional<std::string> key_source::value_in(delivery const& d) const
{
    switch (what) {
    case kind::message_id: {
        auto const* const first = d.attribute(sqs::detail::mark::original_id);
        return quoted_if_any(first && !first->is_binary() && !first->value.empty() ? first->value : d.id());
    }
    case kind::deduplication_id: return quoted_if_any(d.message().system("MessageDeduplicationId"));
    case kind::attribute: {
        auto const* const found = names.empty() ? nullptr : d.attribute(names.front());
        if (!found) return {};
        return quoted_if_any(found->is_binary() ? text::base64_encode(found->value) : std::string(found->value));
    }
    case kind::body: return found_in_body(d.body(), names);
    case kind::whole_body: {
        auto json = detail::json_at(d.body(), "");
        return json ? json : std::optional(quoted(d.body()));
    }
    case kind::function: return make ? quoted_if_any(make(d)) : std::nullopt;
    }
    return {};
}

std::optional<std::string> key_source::key_in(delivery const& d) const
{
    auto value = value_in(d);
    if (!value || is_empty(*value)) return {};
    if (what == kind::whole_body && text::trimmed(d.body(), " \t\r\n") == "null") return {};
    if (what == kind::body && names.size() > 1) {
        for (auto const& name : names)
            if (is_empty(detail::json_at(d.body(), name).value_or(""))) return {};
    }
    return value;
}

std::string text_to_hash(flavour f, std::string_view json)
{
    switch (f) {
    case flavour::python: return detail::as_python(json);
    case flavour::typescript: return detail::as_typescript(json);
    case flavour::java: return detail::as_java(json);
    case flavour::quern: break;
    }
    return detail::as_quern(json);
}

std::string digest_of(flavour f, std::string_view json)
{
    auto const text = text_to_hash(f, json);
    if (f == flavour::quern) return text::hex(text::sha256(text));
    auto const md5 = quern::detail::md5(text);
    return f == flavour::typescript ? text::base64_encode(text::bytes_of(md5)) : text::hex(md5);
}

std::string make_key(flavour f, std::string_view prefix, std::string_view json)
{
    std::string out(prefix);
    return out.append("#").append(digest_of(f, json));
}

} // namespace quern::idempotency
