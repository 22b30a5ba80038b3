#include "target.hpp"

#include <quern/net/web_hook.hpp>
#include <quern/relay/lambda_answer.hpp>
#include <quern/relay/request.hpp>
#include <quern/relay/rule.hpp>

#include <algorithm>

namespace quern::fuzz {
namespace {

relay::request_options const& options()
{
    static relay::request_options const all = [] {
        relay::request_options out;
        out.url = relay::url_template::parse("http://h/{{attr.a}}/{{body:/a}}x?q={{attr.a}}").value();
        out.headers = {relay::header_set::quern, relay::header_set::sqsd};
        out.extra.push_back(relay::header_template::parse("X-A: {{attr.a}}").value());
        return out;
    }();
    return all;
}

} // namespace

void lambda_answer(std::string_view bytes)
{
    std::string_view const ids[] = {"a", "b"};
    auto const said = relay::read_lambda_answer(bytes, ids, false);
    must(said.messages.size() == 2, "there is a word on each message");
    auto const ordered = relay::read_lambda_answer(bytes, ids, true);
    using relay::body_says;
    must(ordered.messages[0] != body_says::failed || ordered.messages[1] == body_says::failed,
        "in order, what follows a failure has failed");
}

/// A message of a stranger: whatever stands in it, nothing leaves its place in the request.
void relay_request(std::string_view bytes)
{
    auto const cut = std::min(bytes.find('\n'), bytes.size());
    sqs::message m;
    m.id = "id";
    m.body = bytes;
    m.attributes = {{"a", "String", bytes.substr(0, cut)}, {bytes.substr(0, cut), "String", bytes},
        {"Body.ContentType", "String", bytes.substr(0, cut)}, {"b", "Binary", bytes}};
    relay::queue_name const queue{"q", "arn:q", "r"};
    auto const made = relay::make_request({m, queue}, options(), {}, wall_time());
    if (!made) return;
    must(std::ranges::all_of(made->target, [](char c) { return c > ' ' && c <= '~' && c != '#'; }),
        "a target is printable and has no blank");
    must(std::ranges::count(made->target, '/') == 2, "a value adds no part to a path");
    must(std::ranges::count(made->target, '?') == 1, "a value begins no query");
    for (auto const& [name, value] : made->headers) {
        must(!net::header_problem(name, value), "a header can be sent as it is");
        must(std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; }), "its value is printable");
    }
    relay::asked_delay(std::string(bytes), "", wall_time());
}

/// The first line is a template, as a URL and as a header; the rest is the body of a message that fills it.
void template_text(std::string_view bytes)
{
    auto const cut = std::min(bytes.find('\n'), bytes.size());
    auto const line = bytes.substr(0, cut);
    relay::queue_name const queue{"q", "arn:q", "r"};
    sqs::message strange, plain;
    strange.id = plain.id = "id";
    strange.body = bytes.substr(std::min(cut + 1, bytes.size()));
    plain.body = R"({"a":"x","b":[1]})";
    strange.attributes = {{"a", "String", strange.body}};
    plain.attributes = {{"a", "String", "x"}};

    if (auto const text = relay::text_template::parse(line)) {
        auto const nothing = [](std::string&, std::string_view) { return result<void>(); };
        auto const fixed = text->fill({plain, queue}, nothing);
        must(!fixed || *fixed == text->fixed_text(), "what no message fills is fixed");
        must(!text->is_fixed() || text->fixed_text() == line, "a text without places stays as it is");
        (void)text->fill({strange, queue});
    }
    if (auto const header = relay::header_template::parse(line))
        must(!net::header_problem(header->name, ""), "the name of a header is one");
    if (auto const url = relay::url_template::parse(line)) {
        must(net::parse_endpoint(url->origin()).has_value(), "the origin is a place to connect to");
        auto const some = url->target({plain, queue}), other = url->target({strange, queue});
        for (auto const* const target : {&some, &other})
            must(!*target ||
                    ((*target)->starts_with('/') &&
                        std::ranges::all_of(**target,
                            [](char c) { return c > ' ' && c <= '~' && c != '#' && c != '"' && c != '\\'; })),
                "a target is printable and has no blank");
        for (char const mark : {'/', '?', '&', '='})
            must(!some || !other || std::ranges::count(*some, mark) == std::ranges::count(*other, mark),
                "no value changes the shape of a URL");
    }
}

} // namespace quern::fuzz
