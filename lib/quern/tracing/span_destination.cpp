#include <quern/tracing/span_destination.hpp>

#include <quern/consumer/json.hpp>
#include <quern/metrics/detail/otlp_post.hpp>

#include <cstdint>
#include <utility>

namespace quern::tracing {

namespace asio = boost::asio;

namespace {

std::uint64_t read_rejected(json_document& document)
{
    simdjson::ondemand::value found;
    if (document["partialSuccess"]["rejectedSpans"].get(found) != simdjson::SUCCESS) return 0;
    std::uint64_t n = 0; // OTLP writes it as a string, and receivers take numbers
    if (found.get_uint64_in_string().get(n) == simdjson::SUCCESS) return n;
    return found.get_uint64().get(n) == simdjson::SUCCESS ? n : 0;
}

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
    if (body.empty()) return 0;
    try {
        return static_cast<std::size_t>(read_json(body, read_rejected));
    } catch (parse_error const&) {
        return 0;
    }
}

std::unique_ptr<span_destination> to_otlp(net::web_hook_sender& web, telemetry::otlp_options o, std::string version)
{
    return std::make_unique<otlp>(web, std::move(o), std::move(version));
}

} // namespace quern::tracing
