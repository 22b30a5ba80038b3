#include <quern/redrive/filter.hpp>

#include <quern/core/detail/text/date.hpp>
#include <quern/sqs/detail/copy.hpp>
#include <quern/sqs/limits.hpp>

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

namespace quern::redrive {
namespace {

namespace dom = simdjson::dom;

failure wrong(std::string_view text, std::size_t at, std::string_view expected)
{
    return failure(errc::invalid_option,
        "\"" + std::string(text) + "\", at character " + std::to_string(at + 1) + ": " + std::string(expected));
}

std::size_t skip_blanks(std::string_view text, std::size_t at)
{
    return std::min(text.find_first_not_of(" \t", at), text.size());
}

struct comparison {
    bool negated = false;
    std::size_t value_at = 0;
};

/// Reads the operator behind a subject that ends at `end`.
result<comparison> read_operator(std::string_view text, std::size_t end)
{
    auto const at = skip_blanks(text, end);
    auto const rest = text.substr(at);
    comparison out;
    out.negated = rest.starts_with("!=");
    if (!out.negated && !rest.starts_with('=')) return wrong(text, at, "expected = or !=");
    out.value_at = skip_blanks(text, at + (out.negated || rest.starts_with("==") ? 2 : 1));
    return out;
}

template <class Literal>
std::optional<failure> read_value(std::string_view text, std::size_t at, Literal& to)
{
    constexpr auto expected = "expected a value as in JSON: \"text\" in quotes, a number, true, false or null";
    dom::parser parser;
    dom::element value;
    simdjson::padded_string const padded(text.substr(at));
    if (parser.parse(padded).get(value) != simdjson::SUCCESS) return wrong(text, at, expected);
    if (std::string_view s; value.get(s) == simdjson::SUCCESS)
        to = std::string(s);
    else if (bool b = false; value.get(b) == simdjson::SUCCESS)
        to = b;
    else if (double d = 0; value.get(d) == simdjson::SUCCESS)
        to = d;
    else if (value.is_null())
        to = nullptr;
    else
        return wrong(text, at, expected);
    return {};
}

std::optional<double> number(std::string_view text)
{
    double out = 0;
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (ec != std::errc() || end != text.data() + text.size()) return {};
    return out;
}

template <class Literal>
bool is_equal(sqs::message_attribute const* a, Literal const& value)
{
    if (!a) return std::holds_alternative<std::nullptr_t>(value);
    if (auto const* text = std::get_if<std::string>(&value)) return a->value == *text;
    if (auto const* truth = std::get_if<bool>(&value)) return a->value == (*truth ? "true" : "false");
    if (auto const* wanted = std::get_if<double>(&value)) return number(a->value) == *wanted;
    return false;
}

template <class Literal>
bool is_equal(std::string_view body, std::string const& pointer, Literal const& value)
{
    thread_local dom::parser parser;
    dom::element found;
    simdjson::padded_string const padded(body);
    if (parser.parse(padded).at_pointer(pointer).get(found) != simdjson::SUCCESS) return false;
    if (auto const* text = std::get_if<std::string>(&value)) {
        std::string_view s;
        return found.get(s) == simdjson::SUCCESS && s == *text;
    }
    if (auto const* truth = std::get_if<bool>(&value)) {
        bool b = false;
        return found.get(b) == simdjson::SUCCESS && b == *truth;
    }
    if (auto const* wanted = std::get_if<double>(&value)) {
        double d = 0;
        return found.get(d) == simdjson::SUCCESS && d == *wanted;
    }
    return found.is_null();
}

/// RFC 6901, 3: "~" stands only before 0 or 1.
std::optional<std::size_t> bad_escape(std::string_view pointer)
{
    for (auto at = pointer.find('~'); at != pointer.npos; at = pointer.find('~', at + 1))
        if (at + 1 == pointer.size() || (pointer[at + 1] != '0' && pointer[at + 1] != '1')) return at;
    return {};
}

} // namespace

bool predicate::holds(sqs::message const& m) const
{
    auto const equal = in_attributes_ ? is_equal(m.attribute(name_), value_) : is_equal(m.body, name_, value_);
    return equal != negated_;
}

result<predicate> parse_where(std::string_view text)
{
    constexpr std::string_view prefix = "attr.";
    auto const start = skip_blanks(text, 0);
    if (!text.substr(start).starts_with(prefix)) return wrong(text, start, "expected attr. and an attribute's name");
    auto const name_at = start + prefix.size();
    auto const name_end = std::min(text.find_first_of(" \t=!<>~", name_at), text.size());
    auto const name = text.substr(name_at, name_end - name_at);
    if (!sqs::is_attribute_name(name)) return wrong(text, name_at, "expected an attribute's name");
    auto const in = read_operator(text, name_end);
    if (!in) return in.error();
    predicate out;
    out.name_ = name;
    out.negated_ = in->negated;
    if (auto const bad = read_value(text, in->value_at, out.value_)) return *bad;
    return out;
}

result<predicate> parse_where_body(std::string_view text)
{
    auto const start = skip_blanks(text, 0);
    if (!text.substr(start).starts_with('/'))
        return wrong(text, start, "expected a JSON pointer, which begins with /, like /order/state");
    auto const end = std::min(text.find_first_of(" \t=!<>", start), text.size());
    auto const pointer = text.substr(start, end - start);
    if (auto const bad = bad_escape(pointer))
        return wrong(text, start + *bad, "in a JSON pointer ~ is written ~0, and / within a name ~1");
    auto const in = read_operator(text, end);
    if (!in) return in.error();
    predicate out;
    out.in_attributes_ = false;
    out.name_ = pointer;
    out.negated_ = in->negated;
    if (auto const bad = read_value(text, in->value_at, out.value_)) return *bad;
    return out;
}

std::optional<std::string> part::of(sqs::message const& m) const
{
    if (in_attributes_) {
        auto const* const its = m.attribute(name_);
        return its ? std::optional(std::string(its->value)) : std::nullopt;
    }
    thread_local dom::parser parser;
    dom::element found;
    simdjson::padded_string const padded(m.body);
    if (parser.parse(padded).at_pointer(name_).get(found) != simdjson::SUCCESS) return {};
    if (std::string_view s; found.get(s) == simdjson::SUCCESS) return std::string(s);
    return simdjson::minify(found);
}

result<part> parse_part(std::string_view text)
{
    constexpr std::string_view prefix = "attr.";
    part out;
    out.text_ = text;
    out.in_attributes_ = text.starts_with(prefix);
    out.name_ = text.substr(out.in_attributes_ ? prefix.size() : 0);
    if (out.in_attributes_) {
        if (!sqs::is_attribute_name(out.name_)) return wrong(text, prefix.size(), "expected an attribute's name");
        return out;
    }
    if (!text.starts_with('/'))
        return wrong(text, 0, "expected attr. and an attribute's name, or a JSON pointer, like /order/state");
    if (auto const bad = bad_escape(text))
        return wrong(text, *bad, "in a JSON pointer ~ is written ~0, and / within a name ~1");
    return out;
}

bool filter::chooses_all() const
{
    return where.empty() && !since && !until && id.empty() && group.empty() && reason.empty();
}

bool filter::chooses(sqs::message const& m) const
{
    if (!id.empty() && m.id != id) return false;
    if (!group.empty() && m.group_id() != group) return false;
    if (!reason.empty()) {
        auto const* const its = m.attribute(sqs::detail::mark::reason);
        if (!its || its->value != reason) return false;
    }
    if (since || until) {
        auto const sent = m.sent_at();
        if (!sent || (since && *sent < *since) || (until && *sent >= *until)) return false;
    }
    for (auto const& one : where)
        if (!one.holds(m)) return false;
    return true;
}

result<wall_time> parse_moment(std::string_view text, wall_time now)
{
    if (auto const at = text::parse_rfc3339(text)) return *at;
    std::int64_t count = 0;
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), count);
    auto const unit = text.substr(static_cast<std::size_t>(end - text.data()));
    if (ec == std::errc() && count >= 0 && count <= 100'000'000) {
        using namespace std::chrono;
        if (unit == "s") return now - seconds(count);
        if (unit == "m") return now - minutes(std::min<std::int64_t>(count, 10'000'000));
        if (unit == "h") return now - hours(std::min<std::int64_t>(count, 100'000));
        if (unit == "d") return now - hours(24) * std::min<std::int64_t>(count, 10'000);
    }
    return failure(errc::invalid_option,
        "\"" + std::string(text) + "\" is no time: 2026-01-02T03:04:05Z, or 90s, 15m, 2h or 3d ago");
}

} // namespace quern::redrive
