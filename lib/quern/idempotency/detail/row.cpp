#include <quern/idempotency/detail/row.hpp>

#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/simdjson.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <utility>

namespace quern::idempotency::detail {

using namespace quern::detail;

namespace {

namespace dom = simdjson::dom;

constexpr std::string_view completed_text = "COMPLETED";
using services::attribute;
using services::item;

constexpr std::int64_t last_second = 9'000'000'000; // in the year 2255; a wall_time ends soon after

template <class Unit>
std::int64_t since_epoch(wall_time at)
{
    return std::chrono::floor<Unit>(at.time_since_epoch()).count();
}

/// At most `most`: beyond that no clock goes.
std::optional<std::int64_t> number_in(item const& row, std::string const& name, std::int64_t most)
{
    auto const text = services::find(row, name, "N");
    std::int64_t out = 0;
    if (!text) return {};
    auto const [end, ec] = std::from_chars(text->data(), text->data() + text->size(), out);
    if (ec != std::errc()) return {};
    static_cast<void>(end); // a fraction, as Powertools writes where it multiplies
    return std::clamp<std::int64_t>(out, 0, most);
}

/// JSON as DynamoDB has it: {"M":{"a":{"S":"x"}}}.
void write_typed(text::json_writer& to, dom::element what)
{
    using type = dom::element_type;
    to.begin_object();
    switch (what.type()) {
    case type::OBJECT:
        to.key("M").begin_object();
        for (auto const member : dom::object(what)) {
            to.key(member.key);
            write_typed(to, member.value);
        }
        to.end_object();
        break;
    case type::ARRAY:
        to.key("L").begin_array();
        for (auto const one : dom::array(what))
            write_typed(to, one);
        to.end_array();
        break;
    case type::STRING: to.member("S", std::string_view(what)); break;
    case type::BOOL: to.member("BOOL", bool(what)); break;
    case type::NULL_VALUE: to.member("NULL", true); break;
    default: to.member("N", std::string_view(simdjson::minify(what))); break;
    }
    to.end_object();
}

void write_plain(text::json_writer& to, dom::element typed)
{
    dom::object all;
    if (typed.get(all) != simdjson::SUCCESS || all.size() != 1) return void(to.number("null"));
    auto const [type, value] = *all.begin();
    dom::object members;
    dom::array elements;
    std::string_view number;
    if (type == "M" && value.get(members) == simdjson::SUCCESS) {
        to.begin_object();
        for (auto const member : members) {
            to.key(member.key);
            write_plain(to, member.value);
        }
        to.end_object();
    } else if (type == "L" && value.get(elements) == simdjson::SUCCESS) {
        to.begin_array();
        for (auto const one : elements)
            write_plain(to, one);
        to.end_array();
    } else if (type == "N" && value.get(number) == simdjson::SUCCESS) {
        to.number(number);
    } else if (type == "NULL" || type == "M" || type == "L" || type == "N") {
        to.number("null"); // or not of the type that is said
    } else {
        to.number(std::string_view(simdjson::minify(value)));
    }
}

} // namespace

attribute to_native(std::string_view json)
{
    dom::parser parser;
    dom::element all, typed;
    std::string text;
    if (parser.parse(json.data(), json.size()).get(all) != simdjson::SUCCESS)
        return attribute::text(std::string(json));
    text::json_writer to(text);
    write_typed(to, all);
    // {"M":{…}} as type and value
    dom::parser again;
    attribute out;
    if (again.parse(text).get(typed) != simdjson::SUCCESS) return attribute::text(std::string(json));
    auto const [type, value] = *dom::object(typed).begin();
    out.type = type;
    std::string_view plain;
    out.value = value.get(plain) == simdjson::SUCCESS ? std::string(plain) : std::string(simdjson::minify(value));
    return out;
}

std::string from_native(attribute const& a)
{
    std::string out;
    if (a.type == "S") {
        text::append_json_string(out, a.value);
        return out;
    }
    if (a.type == "N") return a.value;
    if (a.type == "NULL") return "null";
    if (a.type == "BOOL") return a.value;
    dom::parser parser;
    dom::element all;
    auto const whole = "{\"" + a.type + "\":" + a.value + "}";
    if (parser.parse(whole).get(all) != simdjson::SUCCESS) return "null";
    text::json_writer to(out);
    write_plain(to, all);
    return out;
}

namespace {

/// The result of a handler (JSON) as the attribute `data`: a text for Python, Java and us, a native value for
/// TypeScript. Nothing for none, where the language has nothing then.
std::optional<attribute> data_of(std::optional<std::string> const& result, flavour as)
{
    if (as == flavour::typescript && result) return to_native(*result);
    if (result) return attribute::text(*result);
    if (as == flavour::python) return attribute::text("null");
    return {};
}

} // namespace

item to_item(record const& row, row_names const& names, flavour as, int attempt)
{
    item out;
    bool const done = row.is == record::state::completed;
    out[names.status] = attribute::text(std::string(done ? completed_text : in_progress_text));
    out[names.expiration] = attribute::number(since_epoch<std::chrono::seconds>(row.expires));
    if (row.in_progress_until && !done) {
        out[names.in_progress_expiration] =
            attribute::number(since_epoch<std::chrono::milliseconds>(*row.in_progress_until));
    }
    if (done) {
        if (auto data = data_of(row.result, as)) out[names.data] = std::move(*data);
    }
    if (!row.validation.empty()) out[names.validation] = attribute::text(row.validation);
    if (!row.owner.empty()) out[std::string(owner_attribute)] = attribute::text(row.owner);
    if (attempt != 0) out[std::string(attempt_attribute)] = attribute::number(attempt);
    return out;
}

record to_record(item const& row, row_names const& names, flavour as)
{
    record out;
    auto const status = services::find(row, names.status, "S");
    if (status == completed_text) out.is = record::state::completed;
    if (auto const at = number_in(row, names.expiration, last_second))
        out.expires = wall_time(std::chrono::seconds(*at));
    else
        out.expires = wall_time(std::chrono::seconds(last_second));
    if (auto const at = number_in(row, names.in_progress_expiration, 1'000 * last_second))
        out.in_progress_until = wall_time(std::chrono::milliseconds(*at));
    if (auto const data = row.find(names.data); data != row.end())
        out.result =
            data->second.type == "S" && as != flavour::typescript ? data->second.value : from_native(data->second);
    out.validation = services::find(row, names.validation, "S").value_or("");
    out.owner = services::find(row, owner_attribute, "S").value_or("");
    return out;
}

} // namespace quern::idempotency::detail
