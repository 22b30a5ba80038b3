#include <quern/metrics/detail/otlp_post.hpp>

#include <utility>

namespace quern::metrics::detail {

otlp_post::otlp_post(net::web_hook_sender& web, telemetry::otlp_options const& o)
    : web_(web), request_(net::parse_url(o.url).value())
{
    request_.headers = o.headers;
    request_.headers.emplace_back("Content-Type", "application/json");
    request_.headers.emplace_back("User-Agent", "quern");
    request_.timeout = o.timeout;
    request_.replay = true;
    if (auto const wrong = net::problem_of(request_)) throw_exception_from_error(*wrong, BOOST_CURRENT_LOCATION);
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

} // namespace quern::metrics::detail
