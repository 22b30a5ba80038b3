#include <quern/redrive/filter.hpp>

#include <quern/core/detail/text/date.hpp>
#include <quern/core/detail/text/exact_number.hpp>
#include <quern/core/detail/text/json_find.hpp>
#include <quern/sqs/detail/copy.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

namespace quern::redrive {

using namespace quern::detail;

namespace {

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
    using text::json_kind;
    using number = std::variant_alternative_t<2, Literal>;
    constexpr auto expected = "expected a value as in JSON: \"text\" in quotes, a number, true, false or null";
    auto const value = text::find_json(text.substr(at), "").found;
    if (!value) return wrong(text, at, expected);
    if (value->kind == json_kind::list || value->kind == json_kind::object) return wrong(text, at, expected);
    if (value->kind == json_kind::null) to = nullptr;
    if (value->kind == json_kind::boolean) to = value->json == "true";
    if (value->kind == json_kind::text) to = value->as_text();
    if (value->kind != json_kind::number) return {};
    auto exact = text::exact_number(value->json);
    if (!exact) return wrong(text, at, "expected a number whose exponent has 18 digits at most");
    to = number{std::move(*exact)};
    return {};
}

match match_of(bool equal)
{
    return equal ? match::yes : match::no;
}

template <class Literal>
bool is_equal(sqs::message_attribute const* a, Literal const& value)
{
    if (!a) return std::holds_alternative<std::nullptr_t>(value);
    if (auto const* text = std::get_if<std::string>(&value)) return a->value == *text;
    if (auto const* truth = std::get_if<bool>(&value)) return a->value == (*truth ? "true" : "false");
    if (auto const* wanted = std::get_if<2>(&value)) return text::exact_number(a->value) == wanted->exact;
    return false;
}

template <class Literal>
match is_equal(text::json_value const& found, Literal const& value)
{
    using text::json_kind;
    if (auto const* text = std::get_if<std::string>(&value))
        return match_of(found.kind == json_kind::text && found.as_text() == *text);
    if (auto const* truth = std::get_if<bool>(&value))
        return match_of(found.kind == json_kind::boolean && found.json == (*truth ? "true" : "false"));
    auto const* const wanted = std::get_if<2>(&value);
    if (!wanted) return match_of(found.kind == json_kind::null);
    if (found.kind != json_kind::number) return match::no;
    auto const exact = text::exact_number(found.json);
    return exact ? match_of(*exact == wanted->exact) : match::unreadable;
}

/// RFC 6901, 3: "~" stands only before 0 or 1.
std::optional<std::size_t> bad_escape(std::string_view pointer)
{
    for (auto at = pointer.find('~'); at != pointer.npos; at = pointer.find('~', at + 1))
        if (at + 1 == pointer.size() || (pointer[at + 1] != '0' && pointer[at + 1] != '1')) return at;
    return {};
}

} // namespace

match predicate::equals(sqs::message const& m) const
{
    if (in_attributes_) return match_of(is_equal(m.attribute(name_), value_));
    auto const look = text::find_json(m.body, name_);
    if (!look.readable) return match::unreadable;
    return look.found ? is_equal(*look.found, value_) : match::no;
}

match predicate::holds(sqs::message const& m) const
{
    auto const equal = equals(m);
    return equal == match::unreadable ? equal : match_of((equal == match::yes) != negated_);
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

part::value part::of(sqs::message const& m) const
{
    value out;
    if (in_attributes_) {
        auto const* const its = m.attribute(name_);
        if (its) out.text = its->value;
        return out;
    }
    auto const look = text::find_json(m.body, name_);
    out.readable = look.readable;
    if (look.found) out.text = look.found->as_text();
    return out;
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

match filter::chooses(sqs::message const& m) const
{
    if (!id.empty() && m.id != id) return match::no;
    if (!group.empty() && m.group_id() != group) return match::no;
    if (!reason.empty()) {
        auto const* const its = m.attribute(sqs::detail::mark::reason);
        if (!its || its->value != reason) return match::no;
    }
    if (since || until) {
        auto const sent = m.sent_at();
        if (!sent || (since && *sent < *since) || (until && *sent >= *until)) return match::no;
    }
    auto out = match::yes;
    for (auto const& one : where) {
        auto const holds = one.holds(m);
        if (holds == match::no) return holds;
        if (holds == match::unreadable) out = holds;
    }
    return out;
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
