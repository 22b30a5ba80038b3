#include <quern/core/detail/text/json_find.hpp>

#include <quern/core/detail/text/reading.hpp>
#include <quern/core/detail/text/utf8.hpp>
#include <quern/core/simdjson.hpp>

#include <algorithm>
#include <bitset>
#include <charconv>
#include <cstdint>
#include <system_error>

namespace quern::detail::text {
namespace {

constexpr std::size_t nowhere = std::string_view::npos;
constexpr std::size_t deepest = 1'024;

bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

std::size_t skip_blanks(std::string_view s, std::size_t at)
{
    while (at < s.size() && is_blank(s[at]))
        ++at;
    return at;
}

std::size_t skip_digits(std::string_view s, std::size_t at)
{
    while (at < s.size() && is_digit(s[at]))
        ++at;
    return at;
}

bool stands_at(std::string_view s, std::size_t at, char c)
{
    return at < s.size() && s[at] == c;
}

/// The four hexadecimal digits at `at`.
std::optional<std::uint32_t> code_unit(std::string_view s, std::size_t at)
{
    std::uint32_t out = 0;
    if (s.size() < 4 || at > s.size() - 4) return {};
    auto const* const end = s.data() + at + 4;
    auto const [stop, ec] = std::from_chars(s.data() + at, end, out, 16);
    return ec == std::errc() && stop == end ? std::optional(out) : std::nullopt;
}

bool is_high(std::uint32_t unit)
{
    return unit >= 0xd800 && unit < 0xdc00;
}

bool is_low(std::uint32_t unit)
{
    return unit >= 0xdc00 && unit < 0xe000;
}

/// The character whose \u stands at `at`, and how long it is written.
struct escaped {
    std::uint32_t point = 0;
    std::size_t length = 0; ///< 0: it is none
};

escaped character_at(std::string_view s, std::size_t at)
{
    auto const first = code_unit(s, at + 2);
    if (!first || is_low(*first)) return {};
    if (!is_high(*first)) return {*first, 6};
    if (!stands_at(s, at + 6, '\\') || !stands_at(s, at + 7, 'u')) return {};
    auto const second = code_unit(s, at + 8);
    if (!second || !is_low(*second)) return {};
    return {0x10000 + ((*first - 0xd800) << 10) + (*second - 0xdc00), 12};
}

// Each of these takes the place where something begins, and returns where it has ended; nowhere: it is not JSON.

std::size_t behind_text(std::string_view s, std::size_t at)
{
    for (++at; at < s.size() && s[at] != '"';) {
        if (static_cast<unsigned char>(s[at]) < 0x20) return nowhere;
        if (s[at] != '\\') {
            ++at;
        } else if (stands_at(s, at + 1, 'u')) {
            auto const length = character_at(s, at).length;
            if (length == 0) return nowhere;
            at += length;
        } else {
            constexpr std::string_view others = "\"\\/bfnrt";
            if (at + 1 >= s.size() || others.find(s[at + 1]) == others.npos) return nowhere;
            at += 2;
        }
    }
    return at < s.size() ? at + 1 : nowhere;
}

std::size_t behind_number(std::string_view s, std::size_t at)
{
    if (s[at] == '-') ++at;
    auto const whole = skip_digits(s, at);
    if (whole == at || (s[at] == '0' && whole != at + 1)) return nowhere;
    at = whole;
    if (stands_at(s, at, '.')) {
        auto const end = skip_digits(s, at + 1);
        if (end == at + 1) return nowhere;
        at = end;
    }
    if (stands_at(s, at, 'e') || stands_at(s, at, 'E')) {
        ++at;
        if (stands_at(s, at, '+') || stands_at(s, at, '-')) ++at;
        auto const end = skip_digits(s, at);
        if (end == at) return nowhere;
        at = end;
    }
    return at;
}

std::size_t behind_word(std::string_view s, std::size_t at)
{
    for (std::string_view const word : {"true", "false", "null"})
        if (s.substr(at).starts_with(word)) return at + word.size();
    return nowhere;
}

/// The place of a member's value, behind its name and the colon.
std::size_t behind_name(std::string_view s, std::size_t at)
{
    if (!stands_at(s, at, '"')) return nowhere;
    auto const end = behind_text(s, at);
    if (end == nowhere) return nowhere;
    auto const colon = skip_blanks(s, end);
    return stands_at(s, colon, ':') ? skip_blanks(s, colon + 1) : nowhere;
}

/// Not recursive: strangers choose how deep it goes.
std::size_t behind_value(std::string_view s, std::size_t at)
{
    std::bitset<deepest> is_object;
    std::size_t depth = 0;
    for (;;) {
        if (at >= s.size()) return nowhere;
        if (s[at] == '{' || s[at] == '[') {
            bool const object = s[at] == '{';
            if (depth == deepest) return nowhere;
            is_object[depth++] = object;
            at = skip_blanks(s, at + 1);
            if (!stands_at(s, at, object ? '}' : ']')) {
                if (object) at = behind_name(s, at);
                continue;
            }
            --depth;
            ++at;
        } else if (s[at] == '"') {
            at = behind_text(s, at);
        } else if (s[at] == '-' || is_digit(s[at])) {
            at = behind_number(s, at);
        } else {
            at = behind_word(s, at);
        }
        // A value has ended here, and maybe all that it is in.
        for (;;) {
            if (at == nowhere || depth == 0) return at;
            at = skip_blanks(s, at);
            bool const object = is_object[depth - 1];
            if (!stands_at(s, at, object ? '}' : ']')) break;
            --depth;
            ++at;
        }
        if (!stands_at(s, at, ',')) return nowhere;
        at = skip_blanks(s, at + 1);
        if (is_object[depth - 1]) at = behind_name(s, at);
    }
}

json_kind kind_of(char first)
{
    switch (first) {
    case '{': return json_kind::object;
    case '[': return json_kind::list;
    case '"': return json_kind::text;
    case 't':
    case 'f': return json_kind::boolean;
    case 'n': return json_kind::null;
    default: return json_kind::number;
    }
}

/// The value that begins here, in a text that is known to be JSON.
json_value value_at(std::string_view s, std::size_t at)
{
    return {kind_of(s[at]), s.substr(at, behind_value(s, at) - at)};
}

/// Shows each value in a list or an object, and the name before it as it stands there, until `visit` says that it is
/// enough. The text is known to be JSON.
template <class Visit>
void each_within(std::string_view json, Visit const& visit)
{
    bool const object = json.front() == '{';
    auto at = skip_blanks(json, 1);
    while (json[at] != '}' && json[at] != ']') {
        auto const name_at = at;
        if (object) at = behind_name(json, at);
        auto const value = value_at(json, at);
        auto const name = object ? json.substr(name_at, behind_text(json, name_at) - name_at) : std::string_view();
        if (visit(name, value)) return;
        at = skip_blanks(json, at + value.json.size());
        if (json[at] == ',') at = skip_blanks(json, at + 1);
    }
}

/// The meaning of a text that stands there with its quotes.
std::string unquoted(std::string_view json)
{
    auto const s = json.substr(1, json.size() - 2);
    std::string out;
    for (std::size_t at = 0; at < s.size();) {
        if (s[at] != '\\') {
            auto const end = std::min(s.find('\\', at), s.size());
            out += s.substr(at, end - at);
            at = end;
        } else if (s[at + 1] == 'u') {
            auto const one = character_at(s, at);
            append_utf8(out, one.point);
            at += one.length;
        } else {
            constexpr std::string_view written = "bfnrt", meant = "\b\f\n\r\t";
            auto const which = written.find(s[at + 1]);
            out.push_back(which == written.npos ? s[at + 1] : meant[which]);
            at += 2;
        }
    }
    return out;
}

std::string without_blanks(std::string_view json)
{
    std::string out;
    out.reserve(json.size());
    for (std::size_t at = 0; at < json.size();) {
        auto const end = json[at] == '"' ? behind_text(json, at) : at + 1;
        if (!is_blank(json[at])) out += json.substr(at, end - at);
        at = end;
    }
    return out;
}

/// A part of a pointer as it is meant; nothing where a ~ stands before something else than 0 or 1.
std::optional<std::string> unescaped(std::string_view part)
{
    std::string out;
    for (std::size_t at = 0; at < part.size(); ++at) {
        if (part[at] != '~') {
            out.push_back(part[at]);
            continue;
        }
        ++at;
        if (!stands_at(part, at, '0') && !stands_at(part, at, '1')) return {};
        out.push_back(part[at] == '0' ? '~' : '/');
    }
    return out;
}

std::optional<json_value> element(json_value const& list, std::string_view index)
{
    auto left = number_in<std::size_t>(index);
    if (!left || (index.front() == '0' && index.size() != 1)) return {};
    std::optional<json_value> out;
    each_within(list.json, [&](std::string_view, json_value const& one) {
        if ((*left)-- != 0) return false;
        out = one;
        return true;
    });
    return out;
}

} // namespace

std::string json_value::as_text() const
{
    return kind == json_kind::text ? unquoted(json) : without_blanks(json);
}

std::optional<json_value> json_value::member(std::string_view name) const
{
    std::optional<json_value> out;
    if (kind != json_kind::object) return out;
    each_within(json, [&](std::string_view its, json_value const& value) {
        auto const plain = its.substr(1, its.size() - 2);
        bool const is_it = plain.find('\\') == plain.npos ? plain == name : unquoted(its) == name;
        if (is_it) out = value;
        return is_it;
    });
    return out;
}

std::vector<json_value> json_value::elements() const
{
    std::vector<json_value> out;
    if (kind != json_kind::list) return out;
    each_within(json, [&](std::string_view, json_value const& one) {
        out.push_back(one);
        return false;
    });
    return out;
}

json_look find_json(std::string_view text, std::string_view pointer)
{
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    auto const begin = skip_blanks(text, 0);
    auto const end = behind_value(text, begin);
    json_look out;
    if (end == nowhere || skip_blanks(text, end) != text.size()) return out;
    if (!simdjson::validate_utf8(text.data(), text.size())) return out;
    out.readable = true;
    json_value here{kind_of(text[begin]), text.substr(begin, end - begin)};
    while (!pointer.empty()) {
        if (pointer.front() != '/') return out;
        auto const part_end = std::min(pointer.find('/', 1), pointer.size());
        auto const part = unescaped(pointer.substr(1, part_end - 1));
        if (!part) return out;
        auto const next = here.kind == json_kind::list ? element(here, *part) : here.member(*part);
        if (!next) return out;
        here = *next;
        pointer.remove_prefix(part_end);
    }
    out.found = here;
    return out;
}

std::optional<std::string> find_json_word(std::string_view text, std::string_view pointer)
{
    auto const it = find_json(text, pointer).found;
    bool const is_word =
        it && (it->kind == json_kind::text || it->kind == json_kind::number || it->kind == json_kind::boolean);
    return is_word ? std::optional(it->as_text()) : std::nullopt;
}

} // namespace quern::detail::text
