#include "common/otlp_web.hpp"

#include <quern/aws/config/environment.hpp>

#include <boost/algorithm/string/predicate.hpp>

#include <algorithm>

namespace quern::app {
namespace {

net::web_hook_options one_connection()
{
    net::web_hook_options out;
    out.connections = 1;
    out.environment = aws::process_environment;
    return out;
}

std::optional<aws::signing_place> place_to_sign_for(telemetry::otlp_options const& o)
{
    auto const authorizes = [](auto const& header) { return boost::iequals(header.first, "authorization"); };
    if (std::ranges::any_of(o.headers, authorizes)) return {};
    auto const to = net::parse_url(o.url);
    if (!to || !to->tls) return {}; // a URL that is none is the destination's to refuse
    return aws::signing_place_of(to->host);
}

} // namespace

otlp_web::otlp_web(session& s, telemetry::otlp_options const& o) : web_(s.io.get_executor(), one_connection())
{
    if (auto place = place_to_sign_for(o)) signing_.emplace(web_, s.sqs.credentials(), std::move(*place));
}

net::web_hook_sender& otlp_web::sender()
{
    if (signing_) return *signing_;
    return web_;
}

} // namespace quern::app
