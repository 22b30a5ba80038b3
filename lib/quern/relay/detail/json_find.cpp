#include <quern/relay/detail/json_find.hpp>

#include <quern/core/detail/text/large_integers.hpp>

#include <simdjson.h>

namespace quern::relay::detail {
namespace {

simdjson::simdjson_result<simdjson::dom::element> parse(std::string_view text)
{
    thread_local simdjson::dom::parser parser;
    auto out = parser.parse(simdjson::padded_string(text));
    if (out.error() == simdjson::NUMBER_ERROR) out = parser.parse(text::with_large_integers_as_texts(text));
    return out;
}

} // namespace

std::optional<std::string> json_find(std::string_view text, std::string_view pointer)
{
    simdjson::dom::element found;
    auto whole = parse(text);
    if (whole.at_pointer(pointer).get(found) != simdjson::SUCCESS) return {};
    switch (found.type()) {
    case simdjson::dom::element_type::ARRAY:
    case simdjson::dom::element_type::OBJECT:
    case simdjson::dom::element_type::NULL_VALUE: return {};
    case simdjson::dom::element_type::STRING: return std::string(found.get_string().value_unsafe());
    default: return simdjson::minify(found);
    }
}

bool is_json(std::string_view text)
{
    return parse(text).error() == simdjson::SUCCESS;
}

} // namespace quern::relay::detail
