#include <quern/idempotency/detail/canonical.hpp>

#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/json_find.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/detail/text/large_integers.hpp>
#include <quern/core/detail/text/reading.hpp>
#include <quern/core/simdjson.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

namespace quern::idempotency::detail {

using namespace quern::detail;

namespace {

namespace dom = simdjson::dom;

/// An integer of more than 64 bits, which parse() has made a text of: U+0001 and digits. Nobody writes such texts.
bool is_large_integer(std::string_view text)
{
    return text.size() > 19 && text.front() == '\x01' && text.find_first_not_of("-0123456789", 1) == text.npos;
}

/// Good until the next one of this thread. A text behind a byte order mark is no JSON: some versions of simdjson take
/// it, and keys must not depend on them.
std::optional<dom::element> parse(std::string_view text)
{
    if (text.starts_with("\xef\xbb\xbf")) return {};
    thread_local dom::parser parser;
    dom::element out;
    auto error = parser.parse(text.data(), text.size()).get(out);
    if (is_number_error(error)) error = parser.parse(text::with_large_integers_as_texts(text, "\\u0001")).get(out);
    return error == simdjson::SUCCESS ? std::optional(out) : std::nullopt;
}

/// Digits of the shortest text that reads as the same number, and where the point stands before them.
struct decimal {
    bool negative = false;
    std::string digits;
    int point = 0; ///< 0.d1d2d3… x 10^point
};

decimal shortest(double x)
{
    char text[32];
    auto const [end, ec] = std::to_chars(text, text + sizeof text, x, std::chars_format::scientific);
    std::string_view s(text, static_cast<std::size_t>(end - text));
    decimal out;
    out.negative = s.front() == '-';
    if (out.negative) s.remove_prefix(1);
    auto const e = s.find('e');
    auto exponent = s.substr(e + 1);
    if (exponent.front() == '+') exponent.remove_prefix(1);
    std::from_chars(exponent.data(), exponent.data() + exponent.size(), out.point);
    ++out.point;
    for (auto const c : s.substr(0, e))
        if (c != '.') out.digits.push_back(c);
    while (out.digits.size() > 1 && out.digits.back() == '0')
        out.digits.pop_back();
    if (out.digits == "0") out.point = 1;
    return out;
}

std::string plain(decimal const& d, bool with_fraction)
{
    std::string out;
    auto const size = static_cast<int>(d.digits.size());
    if (d.point <= 0)
        out = "0." + std::string(static_cast<std::size_t>(-d.point), '0') + d.digits;
    else if (d.point >= size)
        out = d.digits + std::string(static_cast<std::size_t>(d.point - size), '0') + (with_fraction ? ".0" : "");
    else
        out = d.digits.substr(0, static_cast<std::size_t>(d.point)) + '.' +
            d.digits.substr(static_cast<std::size_t>(d.point));
    return (d.negative ? "-" : "") + out;
}

std::string with_exponent(decimal const& d, char const* e, bool sign, bool with_fraction, int width)
{
    auto out = std::string(d.negative ? "-" : "") + d.digits.front();
    if (d.digits.size() > 1)
        out += '.' + d.digits.substr(1);
    else if (with_fraction)
        out += ".0";
    auto const exponent = d.point - 1;
    auto number = std::to_string(std::abs(exponent));
    if (static_cast<int>(number.size()) < width) number.insert(0, 1, '0');
    out += e;
    if (exponent < 0)
        out += '-';
    else if (sign)
        out += '+';
    return out + number;
}

/// `repr(1e16)` is 1e+16.
std::string python_number(double x)
{
    auto const d = shortest(x);
    return d.point > 16 || d.point < -3 ? with_exponent(d, "e", true, false, 2) : plain(d, true);
}

/// `String(1e21)` is 1e+21, and 1.0 is 1.
std::string script_number(double x)
{
    if (x == 0) return "0";
    auto const d = shortest(x);
    return d.point > 21 || d.point < -5 ? with_exponent(d, "e", true, false, 1) : plain(d, false);
}

std::string large_script_number(std::string_view digits)
{
    double x = 0;
    auto const [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), x);
    return ec == std::errc() ? script_number(x) : "null"; // JSON.stringify(Infinity)
}

/// `Double.toString(1e7)` is 1.0E7.
std::string java_number(double x)
{
    auto const d = shortest(x);
    return x != 0 && (d.point > 7 || d.point < -2) ? with_exponent(d, "E", false, true, 1) : plain(d, true);
}

void append_ascii(std::string& to, std::string_view utf8)
{
    std::string escaped;
    text::append_json_string(escaped, utf8);
    auto const unit = [&](std::uint32_t u) {
        char out[16];
        std::snprintf(out, sizeof out, "\\u%04x", static_cast<unsigned>(u));
        to += out;
    };
    for (std::size_t i = 0; i < escaped.size();) {
        auto const c = static_cast<unsigned char>(escaped[i]);
        if (c < 0x7f) {
            to.push_back(escaped[i++]);
            continue;
        }
        if (c == 0x7f) {
            unit(c);
            ++i;
            continue;
        }
        int const more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
        std::uint32_t point = c & (0x3fu >> more);
        for (int k = 1; k <= more && i + static_cast<std::size_t>(k) < escaped.size(); ++k)
            point = point << 6 | (static_cast<unsigned char>(escaped[i + static_cast<std::size_t>(k)]) & 0x3fu);
        i += static_cast<std::size_t>(more) + 1;
        if (point >= 0x10000) {
            unit(0xd800 + ((point - 0x10000) >> 10));
            unit(0xdc00 + ((point - 0x10000) & 0x3ff));
        } else {
            unit(point);
        }
    }
}

/// The place among an object's members that JavaScript gives to a name by its number: 0 to 2^32 - 2.
std::optional<std::uint32_t> index_in(std::string_view name)
{
    auto const out = text::number_in<std::uint32_t>(name);
    bool const is_plain = out && (name == "0" || name.front() != '0') && *out != 0xffff'ffff;
    return is_plain ? out : std::nullopt;
}

/// How one language writes JSON.
struct dialect {
    char const* comma = ",";
    char const* colon = ":";
    bool ascii = false;
    enum class order { as_found, bytes, script } keys = order::as_found;
    std::string (*number)(double) = nullptr; // as they were
    std::string (*large_integer)(std::string_view) = nullptr;
    bool all_are_doubles = false;
};

void append(std::string& to, dom::element what, dialect const& how);

void append_text(std::string& to, std::string_view text, dialect const& how)
{
    if (is_large_integer(text))
        to += how.large_integer ? how.large_integer(text.substr(1)) : std::string(text.substr(1));
    else if (how.ascii)
        append_ascii(to, text);
    else
        text::append_json_string(to, text);
}

void append_object(std::string& to, dom::object what, dialect const& how)
{
    std::vector<std::pair<std::string_view, dom::element>> members;
    for (auto const member : what)
        members.emplace_back(member.key, member.value);
    if (how.keys == dialect::order::bytes)
        std::ranges::stable_sort(members, {}, [](auto const& m) { return m.first; });
    if (how.keys == dialect::order::script) {
        std::ranges::stable_sort(members, {}, [](auto const& m) { return text::lower_case(m.first); });
        std::ranges::stable_sort(members, {}, [](auto const& m) {
            return std::uint64_t(index_in(m.first).value_or(std::numeric_limits<std::uint32_t>::max()));
        });
    }
    to.push_back('{');
    char const* between = "";
    for (auto const& [name, value] : members) {
        to += between;
        append_text(to, name, how);
        to += how.colon;
        append(to, value, how);
        between = how.comma;
    }
    to.push_back('}');
}

void append(std::string& to, dom::element what, dialect const& how)
{
    using type = dom::element_type;
    switch (what.type()) {
    case type::OBJECT: return append_object(to, dom::object(what), how);
    case type::STRING: return append_text(to, std::string_view(what), how);
    case type::DOUBLE: to += how.number ? how.number(double(what)) : simdjson::minify(what); return;
    case type::INT64:
    case type::UINT64: to += how.all_are_doubles ? how.number(double(what)) : simdjson::minify(what); return;
    case type::ARRAY: break;
    default: to += simdjson::minify(what); return;
    }
    to.push_back('[');
    char const* between = "";
    for (auto const one : dom::array(what)) {
        to += between;
        append(to, one, how);
        between = how.comma;
    }
    to.push_back(']');
}

std::string written(std::string_view json, dialect const& how)
{
    auto const what = parse(json);
    if (!what) return std::string(json);
    std::string out;
    append(out, *what, how);
    return out;
}

} // namespace

std::optional<std::string> json_at(std::string_view body, std::string_view pointer)
{
    // What is around the value may be anything that is JSON. A whole body that parse() refuses is hashed as a text.
    auto const found = text::find_json(body, pointer).found;
    if (!found || found->kind == text::json_kind::null) return {};
    auto const value = parse(pointer.empty() ? body : found->json);
    if (!value) return {};
    std::string out;
    append(out, *value, {});
    return out;
}

std::string as_python(std::string_view json)
{
    return written(json, {", ", ": ", true, dialect::order::bytes, python_number});
}

std::string as_typescript(std::string_view json)
{
    return written(json, {",", ":", false, dialect::order::script, script_number, large_script_number, true});
}

std::string as_java(std::string_view json)
{
    auto const what = parse(json);
    if (what && what->is_string() && !is_large_integer(std::string_view(*what)))
        return std::string(std::string_view(*what));
    return written(json, {",", ":", false, dialect::order::as_found, java_number});
}

std::string as_quern(std::string_view json)
{
    return written(json, {",", ":", false, dialect::order::bytes, script_number});
}

} // namespace quern::idempotency::detail
