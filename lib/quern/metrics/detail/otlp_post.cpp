#include <quern/metrics/detail/otlp_post.hpp>

#include <quern/consumer/detail/message/ascii_excerpt.hpp>
#include <quern/consumer/json.hpp>
#include <quern/core/detail/throw_wrong.hpp>

#include <utility>

namespace quern::metrics::detail {

using namespace quern::detail;

namespace {

partial_success read_partial_success(json_document& document, std::string_view counted_as)
{
    partial_success out;
    simdjson::ondemand::object said;
    if (document["partialSuccess"].get(said) != simdjson::SUCCESS) return out;
    simdjson::ondemand::value found;
    if (said[counted_as].get(found) == simdjson::SUCCESS) { // OTLP writes a string, and some receivers a number
        std::uint64_t n = 0;
        if (found.get_uint64_in_string().get(n) == simdjson::SUCCESS ||
            found.get_uint64().get(n) == simdjson::SUCCESS)
            out.rejected = n;
    }
    std::string_view why;
    if (said["errorMessage"].get(why) == simdjson::SUCCESS) out.why = quern::detail::ascii_excerpt(why, 200);
    return out;
}

} // namespace

otlp_post::otlp_post(net::web_hook_sender& web, telemetry::otlp_options const& o)
    : web_(web), request_(net::parse_url(o.url).value())
{
    request_.headers = o.headers;
    request_.headers.emplace_back("Content-Type", "application/json");
    request_.headers.emplace_back("User-Agent", "quern");
    request_.timeout = o.timeout;
    request_.replay = true;
    throw_wrong(net::problem_of(request_));
}

boost::asio::awaitable<net::web_hook_result> otlp_post::send(std::string body)
{
    auto request = request_;
    request.body = std::move(body);
    return web_.send(std::move(request));
}

std::optional<failure> refusal_in(net::web_hook_result const& got)
{
    if (!got) {
        auto why = got.error().why;
        why.retryable = true;
        return why;
    }
    if (got->status >= 200 && got->status < 300) return {};
    failure why(errc::service_error, "the receiver answers HTTP " + std::to_string(got->status));
    why.http_status = got->status;
    why.retryable = got->status == 429 || (got->status >= 502 && got->status <= 504);
    return why;
}

partial_success partial_success_in(std::string_view body, std::string_view counted_as)
{
    if (body.empty()) return {};
    try {
        return read_json(body, [=](json_document& d) { return read_partial_success(d, counted_as); });
    } catch (parse_error const&) {
        return {};
    }
}

} // namespace quern::metrics::detail
