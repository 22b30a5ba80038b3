#include <quern/relay/lambda_answer.hpp>

#include <quern/core/detail/text/json_find.hpp>

#include <algorithm>

namespace quern::relay {

using namespace quern::detail;

namespace {

using text::json_kind;

constexpr std::size_t unknown = static_cast<std::size_t>(-1);

lambda_answer all(std::size_t count, body_says what, std::string error = {})
{
    lambda_answer out;
    out.messages.assign(count, what);
    out.error = std::move(error);
    return out;
}

std::size_t index_of(text::json_value const& failure, std::span<std::string_view const> ids)
{
    auto const id = failure.member("itemIdentifier");
    if (!id || id->kind != json_kind::text) return unknown;
    auto const at = std::ranges::find(ids, id->as_text());
    return at == ids.end() ? unknown : static_cast<std::size_t>(at - ids.begin());
}

} // namespace

lambda_answer read_lambda_answer(std::string_view body, std::span<std::string_view const> ids, bool in_order)
{
    auto const blank = body.find_first_not_of(" \t\r\n") == body.npos;
    if (blank) return all(ids.size(), body_says::nothing);
    auto const whole = text::find_json(body, "").found;
    if (!whole) return all(ids.size(), body_says::unreadable, "it is no JSON");
    if (whole->kind == json_kind::null) return all(ids.size(), body_says::nothing);
    if (whole->kind != json_kind::object) return all(ids.size(), body_says::unreadable, "it is no object");

    auto const type = whole->member("errorType");
    if (type || whole->member("errorMessage")) {
        auto const is_text = type && type->kind == json_kind::text;
        return all(ids.size(), body_says::error, is_text ? type->as_text().substr(0, 200) : "no errorType");
    }
    auto const failures = whole->member("batchItemFailures");
    if (!failures || failures->kind == json_kind::null) return all(ids.size(), body_says::nothing);
    if (failures->kind != json_kind::list)
        return all(ids.size(), body_says::unreadable, "batchItemFailures is no list");

    auto out = all(ids.size(), body_says::nothing);
    for (auto const& failure : failures->elements()) {
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
