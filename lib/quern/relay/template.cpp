#include <quern/relay/template.hpp>

#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/json_find.hpp>
#include <quern/core/detail/text/trimmed.hpp>
#include <quern/net/endpoint.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

namespace quern::relay {

using namespace quern::detail;

namespace {

using value = std::optional<std::string>;

value unless_empty(std::string_view text)
{
    return text.empty() ? value() : value(text);
}

value unix_seconds(std::optional<std::chrono::system_clock::time_point> at)
{
    if (!at) return {};
    return std::to_string(std::chrono::floor<std::chrono::seconds>(at->time_since_epoch()).count());
}

struct place_kind {
    std::string_view name;
    value (*of)(letter const&);
};

constexpr std::array<place_kind, 9> plain_places{{
    {"id", [](letter const& l) { return unless_empty(l.message.id); }},
    {"body", [](letter const& l) { return value(l.message.body); }},
    {"group", [](letter const& l) { return unless_empty(l.message.group_id()); }},
    {"receive_count", [](letter const& l) { return value(std::to_string(l.message.receive_count())); }},
    {"queue", [](letter const& l) { return unless_empty(l.queue.name); }},
    {"sent_at", [](letter const& l) { return unix_seconds(l.message.sent_at()); }},
    {"first_received_at", [](letter const& l) { return unix_seconds(l.message.first_received_at()); }},
    {"sequence_number", [](letter const& l) { return unless_empty(l.message.system("SequenceNumber")); }},
    {"deduplication_id", [](letter const& l) { return unless_empty(l.message.system("MessageDeduplicationId")); }},
}};

constexpr std::string_view attribute_place = "attr.";
constexpr std::string_view body_place = "body:";

bool is_place(std::string_view name)
{
    if (name.starts_with(attribute_place)) return name.size() > attribute_place.size();
    if (name.starts_with(body_place)) return name.substr(body_place.size()).starts_with('/');
    return std::ranges::find(plain_places, name, &place_kind::name) != plain_places.end();
}

value value_of(std::string_view place, letter const& from)
{
    if (place.starts_with(attribute_place)) {
        auto const* const found = from.message.attribute(place.substr(attribute_place.size()));
        if (!found) return {};
        return found->is_binary() ? text::base64_encode(found->value) : std::string(found->value);
    }
    if (place.starts_with(body_place))
        return text::find_json_word(from.message.body, place.substr(body_place.size()));
    return std::ranges::find(plain_places, place, &place_kind::name)->of(from);
}

failure wrong_template(std::string why)
{
    return {errc::invalid_option, std::move(why)};
}

} // namespace

result<text_template> text_template::parse(std::string_view text)
{
    text_template out;
    while (!text.empty()) {
        auto const open = text.find("{{");
        auto& next = out.parts_.emplace_back();
        next.text = text.substr(0, open);
        if (open == text.npos) break;
        auto const close = text.find("}}", open);
        if (close == text.npos)
            return wrong_template("\"" + std::string(text.substr(open)) + "\" has no closing braces");
        auto const name = text::trimmed(text.substr(open + 2, close - open - 2));
        if (!is_place(name)) {
            return wrong_template("\"{{" + std::string(name) +
                "}}\" is not known; there are id, body, group, receive_count, queue, sent_at, first_received_at, "
                "sequence_number, deduplication_id, attr.NAME and body:/JSON/POINTER");
        }
        next.place = name;
        text.remove_prefix(close + 2);
    }
    return out;
}

result<std::string> text_template::fill(letter const& from, writer const& write) const
{
    std::string out;
    for (auto const& part : parts_) {
        out += part.text;
        if (part.place.empty()) continue;
        auto const found = value_of(part.place, from);
        if (!found) return failure(errc::invalid_request, "the message has no {{" + part.place + "}}");
        if (!write) {
            out += *found;
        } else if (auto const done = write(out, *found); !done) {
            return failure(errc::invalid_request, "{{" + part.place + "}} " + done.error().message);
        }
    }
    return out;
}

std::string text_template::fixed_text() const
{
    std::string out;
    for (auto const& part : parts_)
        out += part.text;
    return out;
}

result<url_template> url_template::parse(std::string_view url)
{
    auto const scheme_end = url.find("://");
    auto const authority_end = scheme_end == url.npos ? url.npos : url.find_first_of("/?#", scheme_end + 3);
    auto const origin = url.substr(0, authority_end);
    if (origin.find("{{") != origin.npos)
        return wrong_template("the host of the URL is fixed: {{ }} may stand in its path and its query");
    auto const at = net::parse_endpoint(origin);
    if (!at) return wrong_template(at.error().message);

    url_template out;
    out.origin_ = at->origin();
    auto rest = authority_end == url.npos ? std::string_view() : url.substr(authority_end);
    // A pointer may have a question mark: the query begins at the first one outside of the braces.
    auto question = rest.find('?');
    for (auto open = rest.find("{{"); open < question && question != rest.npos; open = rest.find("{{", open + 2)) {
        auto const close = rest.find("}}", open);
        if (close == rest.npos) break;
        if (question < close) question = rest.find('?', close);
    }
    auto path = text_template::parse(rest.starts_with('?') || rest.empty() ? "/" : rest.substr(0, question));
    if (!path) return path.error();
    out.path_ = std::move(*path);
    out.has_query_ = question != rest.npos;
    auto query = text_template::parse(out.has_query_ ? rest.substr(question + 1) : std::string_view());
    if (!query) return query.error();
    out.query_ = std::move(*query);
    for (char const c : out.path_.fixed_text() + out.query_.fixed_text()) {
        if (c == '#') return wrong_template("the URL has a fragment, which no request carries");
        if (c <= ' ' || c >= '\x7f' || c == '"' || c == '<' || c == '>' || c == '\\' || c == '{' || c == '}')
            return wrong_template("the URL has a character that has to be percent-encoded");
    }
    return out;
}

namespace {

/// The first part of a path that means this place or the one above; empty: there is none. An encoded slash ends a
/// part as well, for some servers decode it before they resolve "..".
std::string_view dots_in(std::string_view path)
{
    while (!path.empty()) {
        auto const end = std::min({path.find('/'), path.find("%2F"), path.find("%5C"), path.size()});
        auto const part = path.substr(0, end);
        if (part == "." || part == "..") return part;
        auto const separator = path.substr(end).starts_with('%') ? 3u : 1u;
        path.remove_prefix(std::min(end + separator, path.size()));
    }
    return {};
}

} // namespace

constexpr std::size_t longest = 8192; // what servers take: 8 KiB in nginx and Apache

result<std::string> path_of_sender(std::string_view path)
{
    if (!path.starts_with('/'))
        return failure(errc::invalid_request, "the path of the message has no slash at its front");
    std::string out;
    while (!path.empty()) {
        path.remove_prefix(1);
        auto const part = path.substr(0, path.find('/'));
        out += '/' + aws::detail::uri_encode(part);
        path.remove_prefix(part.size());
    }
    if (!dots_in(out).empty()) return failure(errc::invalid_request, "the path of the message leads upwards");
    if (out.size() > longest) return failure(errc::invalid_request, "the URL gets longer than 8 KiB");
    return out;
}

result<std::string> url_template::target(letter const& from) const
{
    auto const into_path = [](std::string& out, std::string_view text) -> result<void> {
        if (text.empty()) return failure(errc::invalid_request, "is empty");
        out += aws::detail::uri_encode(text);
        return {};
    };
    auto const into_query = [](std::string& out, std::string_view text) -> result<void> {
        out += aws::detail::uri_encode(text);
        return {};
    };
    auto out = path_.fill(from, into_path);
    if (!out) return out;
    if (auto const dots = path_.is_fixed() ? std::string_view() : dots_in(*out); !dots.empty())
        return failure(errc::invalid_request, "a value makes \"" + std::string(dots) + "\" of a part of the path");
    if (has_query_) {
        auto const query = query_.fill(from, into_query);
        if (!query) return query;
        *out += '?' + *query;
    }
    if (out->size() > longest) return failure(errc::invalid_request, "the URL gets longer than 8 KiB");
    return out;
}

} // namespace quern::relay
