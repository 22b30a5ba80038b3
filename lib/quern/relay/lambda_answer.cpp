#include <quern/relay/lambda_answer.hpp>

#include <quern/core/detail/text/large_integers.hpp>

#include <simdjson.h>

#include <algorithm>

namespace quern::relay {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t unknown = static_cast<std::size_t>(-1);

lambda_answer all(std::size_t count, body_says what, std::string error = {})
{
    lambda_answer out;
    out.messages.assign(count, what);
    out.error = std::move(error);
    return out;
}

std::size_t index_of(dom::element failure, std::span<std::string_view const> ids)
{
    std::string_view id;
    if (failure["itemIdentifier"].get(id) != simdjson::SUCCESS) return unknown;
    auto const at = std::ranges::find(ids, id);
    return at == ids.end() ? unknown : static_cast<std::size_t>(at - ids.begin());
}

} // namespace

lambda_answer read_lambda_answer(std::string_view body, std::span<std::string_view const> ids, bool in_order)
{
    auto const blank = body.find_first_not_of(" \t\r\n") == body.npos;
    if (blank) return all(ids.size(), body_says::nothing);
    dom::parser parser;
    dom::element whole;
    auto error = parser.parse(simdjson::padded_string(body)).get(whole);
    if (error == simdjson::NUMBER_ERROR) error = parser.parse(text::with_large_integers_as_texts(body)).get(whole);
    if (error != simdjson::SUCCESS) return all(ids.size(), body_says::unreadable, "it is no JSON");
    if (whole.is_null()) return all(ids.size(), body_says::nothing);
    dom::object object;
    if (whole.get(object) != simdjson::SUCCESS) return all(ids.size(), body_says::unreadable, "it is no object");

    std::string_view type;
    if (object["errorType"].error() == simdjson::SUCCESS || object["errorMessage"].error() == simdjson::SUCCESS) {
        if (object["errorType"].get(type) != simdjson::SUCCESS) type = "no errorType";
        return all(ids.size(), body_says::error, std::string(type.substr(0, 200)));
    }
    dom::element failures;
    if (object["batchItemFailures"].get(failures) != simdjson::SUCCESS || failures.is_null())
        return all(ids.size(), body_says::nothing);
    dom::array list;
    if (failures.get(list) != simdjson::SUCCESS)
        return all(ids.size(), body_says::unreadable, "batchItemFailures is no list");

    auto out = all(ids.size(), body_says::nothing);
    for (auto const failure : list) {
        auto const at = index_of(failure, ids);
        if (at == unknown)
            return all(ids.size(), body_says::unreadable, "batchItemFailures names no message of the event");
        out.messages[at] = body_says::failed;
    }
    if (in_order) {
        auto const first = std::ranges::find(out.messages, body_says::failed);
        std::fill(first, out.messages.end(), body_says::failed);
    }
    return out;
}

} // namespace quern::relay
