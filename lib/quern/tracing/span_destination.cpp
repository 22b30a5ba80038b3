#include <quern/tracing/span_destination.hpp>

#include <quern/metrics/detail/otlp_post.hpp>

#include <utility>

namespace quern::tracing {

namespace asio = boost::asio;

namespace {

/// Retry-After in seconds. As a date it is a rare thing, and the usual pause does instead.
std::optional<std::chrono::milliseconds> pause_in(std::string_view text)
{
    if (text.empty() || text.size() > 5 || text.find_first_not_of("0123456789") != text.npos) return {};
    return std::chrono::seconds(std::stoi(std::string(text)));
}

class otlp final : public span_destination {
public:
    otlp(net::web_hook_sender& web, telemetry::otlp_options o, std::string version)
        : post_(web, o), options_(std::move(o)), version_(std::move(version))
    {}

    asio::awaitable<span_answer> send(std::vector<telemetry::span> const& spans) override
    {
        auto body = telemetry::otlp_traces(spans, options_.resource, version_);
        auto const got = co_await post_.send(std::move(body));
        span_answer out;
        out.why = metrics::detail::refusal_in(got);
        if (out.why && got) out.after = pause_in(got->fields.find("Retry-After"));
        if (!out.why) out.rejected = rejected_in(got->body);
        co_return out;
    }

private:
    metrics::detail::otlp_post post_;
    telemetry::otlp_options options_;
    std::string version_;
};

} // namespace

std::size_t rejected_in(std::string_view body)
{
    return static_cast<std::size_t>(metrics::detail::partial_success_in(body, "rejectedSpans").rejected);
}

std::unique_ptr<span_destination> to_otlp(net::web_hook_sender& web, telemetry::otlp_options o, std::string version)
{
    return std::make_unique<otlp>(web, std::move(o), std::move(version));
}

} // namespace quern::tracing
