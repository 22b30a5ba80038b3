#include "recorded_web.hpp"

#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/core/detail/text/base64.hpp>

#include <boost/json.hpp>

#include <algorithm>

namespace quern::conformance {

using namespace quern::detail;
using namespace quern::aws::detail;

namespace {

std::string bytes_in(json::value const& data)
{
    if (auto const* const base64 = find(data, "Base64")) {
        return text::base64_decode(std::string_view(base64->as_string())).value_or("");
    }
    return text_at(data, "Utf8");
}

/// The address with its query sorted, and without a slash that is all of its path.
std::string comparable(std::string const& url)
{
    auto const mark = std::min(url.find('?'), url.size());
    auto out = url.substr(0, mark);
    if (std::count(out.begin(), out.end(), '/') == 3 && out.ends_with('/')) out.pop_back();
    if (mark < url.size()) out += '?' + canonical_query(parse_query(std::string_view(url).substr(mark + 1)));
    return out;
}

bool is_telling(std::string_view header)
{
    constexpr std::string_view names[] = {"accept", "content-type", "x-amz-sso_bearer_token",
        "x-aws-ec2-metadata-token", "x-aws-ec2-metadata-token-ttl-seconds"};
    return std::ranges::find(names, header) != std::end(names);
}

/// The action that a form asks for.
std::string action_in(std::string_view form)
{
    std::string out;
    for (auto const& [name, value] : parse_query(form)) {
        if (name == "Action" || name == "Version") out += value + ' ';
    }
    return out;
}

} // namespace

recorded_web::recorded_web(json::value const& traffic, checked_case& verdict) : verdict_(verdict)
{
    std::map<std::int64_t, exchange> by_connection;
    for (auto const& event : list_at(traffic, "events")) {
        auto& one = by_connection[static_cast<std::int64_t>(number_at(event, "connection_id", 0))];
        auto const& action = event.at("action");
        if (auto const* const request = find(action, "Request")) one.request = request->at("request");
        if (auto const* const response = find(action, "Response")) one.response = response->at("response");
        if (auto const* const data = find(action, "Data")) {
            (text_at(*data, "direction") == "Request" ? one.body : one.answer) += bytes_in(data->at("data"));
        }
    }
    for (auto& [id, one] : by_connection)
        exchanges_.push_back(std::move(one));
}

boost::asio::awaitable<result<net::response>> recorded_web::send(aws::web_request sent)
{
    if (next_ == exchanges_.size()) {
        verdict_.fail("not recorded: " + sent.method + ' ' + sent.url);
        co_return failure(errc::connect_failed, "not recorded");
    }
    auto const& recorded = exchanges_[next_++];
    compare(recorded, sent);
    auto const* const good = find(recorded.response, "Ok");
    if (!good) co_return failure(errc::timed_out, "recorded without an answer", true);
    net::response answer;
    answer.status = static_cast<int>(number_at(*good, "status", 0));
    answer.body = recorded.answer;
    if (auto const* const headers = find(*good, "headers")) {
        for (auto const& [name, values] : headers->as_object()) {
            for (auto const& value : values.as_array())
                answer.fields.add(name, std::string_view(value.as_string()));
        }
    }
    co_return answer;
}

void recorded_web::compare(exchange const& recorded, aws::web_request const& sent)
{
    verdict_.equal("method", text_at(recorded.request, "method"), sent.method);
    verdict_.equal("url", comparable(text_at(recorded.request, "uri")), comparable(sent.url));
    verdict_.equal("action", action_in(recorded.body), action_in(sent.body));
    auto const* const headers = find(recorded.request, "headers");
    if (!headers) return;
    for (auto const& [name, values] : headers->as_object()) {
        if (!is_telling(name)) continue;
        auto const same = [&, wanted = std::string_view(name)](auto const& h) { return h.first == wanted; };
        auto const at = std::ranges::find_if(sent.headers, same);
        verdict_.equal(name, std::string_view(values.at(0).as_string()), at == sent.headers.end() ? "" : at->second);
    }
}

} // namespace quern::conformance
