#include <quern/aws/config/detail/connecting.hpp>
#include <quern/aws/config/region.hpp>
#include <quern/aws/detail/call.hpp>
#include <quern/core/alarm.hpp>
#include <quern/metrics/destinations.hpp>
#include <quern/metrics/detail/otlp_post.hpp>

#include <optional>
#include <utility>

namespace quern::metrics {

namespace asio = boost::asio;
using telemetry::snapshot;

namespace {

/// The difference to the export before; of the first one to the start.
class differences {
public:
    snapshot next(snapshot now)
    {
        auto out = last_ ? telemetry::since(*last_, now) : now;
        last_ = std::move(now);
        return out;
    }

private:
    std::optional<snapshot> last_;
};

class emf final : public destination {
public:
    emf(std::function<void(std::string_view)> write, std::string space)
        : write_(std::move(write)), space_(std::move(space))
    {}

    asio::awaitable<result<void>> send(snapshot now) override
    {
        auto const lines = telemetry::emf_lines(differences_.next(std::move(now)), space_);
        if (!lines.empty()) write_(lines);
        co_return result<void>();
    }

private:
    std::function<void(std::string_view)> write_;
    std::string space_;
    differences differences_;
};

class otlp final : public destination {
public:
    otlp(net::web_hook_sender& web, telemetry::otlp_options o, std::string version)
        : post_(web, o), options_(std::move(o)), version_(std::move(version))
    {}

    asio::awaitable<result<void>> send(snapshot now) override
    {
        auto body = telemetry::otlp_metrics(now, options_.resource, version_);
        auto const got = co_await post_.send(std::move(body));
        if (auto const why = detail::refusal_in(got)) co_return *why;
        auto const part = detail::partial_success_in(got->body, "rejectedDataPoints");
        if (part.rejected != 0) co_return rejected(part);
        co_return result<void>();
    }

private:
    static failure rejected(detail::partial_success const& part)
    {
        auto const count = std::to_string(part.rejected) + (part.rejected == 1 ? " data point" : " data points");
        return {errc::service_error, "the receiver rejects " + count + (part.why.empty() ? "" : ": " + part.why)};
    }

    detail::otlp_post post_;
    telemetry::otlp_options options_;
    std::string version_;
};

aws::regional_endpoint place_of(cloudwatch_options const& o)
{
    return aws::locate(aws::cloudwatch_service, {.region = o.region, .url = o.url}, o.environment).value();
}

aws::detail::json_target target_in(std::string region)
{
    aws::detail::json_target out;
    out.region = std::move(region);
    out.service = "monitoring";
    out.target_prefix = "GraniteServiceVersion20100801";
    return out;
}

/// A call whose answer was lost may have been counted: it must not be repeated.
aws::retry_options once()
{
    aws::retry_options out;
    out.max_attempts = 1;
    return out;
}

bool was_not_counted(failure const& why)
{
    return why.code == errc::throttled || why.code == errc::connect_failed;
}

class cloudwatch final : public destination {
public:
    cloudwatch(asio::any_io_executor const& ex, std::shared_ptr<aws::credentials_provider> keys, cloudwatch_options o,
        aws::regional_endpoint const& where, clock& time)
        : options_(std::move(o)), time_(time), later_(time, ex), at_(net::parse_endpoint(where.url).value()),
          http_(ex, at_, connections()),
          service_(http_, target_in(where.signing_region), std::move(keys), time, once())
    {}

    asio::awaitable<result<void>> send(snapshot now) override
    {
        auto const what = differences_.next(std::move(now));
        auto bodies = telemetry::put_metric_data_bodies(what, options_.name_space);
        for (auto& body : bodies) {
            auto const done = co_await put(std::move(body));
            if (!done) co_return done.error();
        }
        co_return result<void>();
    }

private:
    asio::awaitable<result<void>> put(std::string body)
    {
        constexpr int most_tries = 3;
        aws::detail::call_options how;
        how.timeout = options_.timeout;
        for (int tries = 1;; ++tries) {
            auto again = body;
            auto const done = co_await service_.call("PutMetricData", std::move(again), how);
            if (done) co_return result<void>();
            if (tries == most_tries || !was_not_counted(done.error())) co_return done.error();
            auto const soon = time_.now() + std::chrono::seconds(tries);
            co_await later_.wait(soon);
        }
    }

    net::client_options connections() const
    {
        net::client_options out;
        out.data_connections = out.control_connections = 1;
        return aws::detail::completed(std::move(out), at_, options_.environment);
    }

    cloudwatch_options options_;
    clock& time_;
    alarm later_;
    net::endpoint const at_;
    net::client http_;
    aws::detail::json_service service_;
    differences differences_;
};

} // namespace

std::unique_ptr<destination> to_emf(std::function<void(std::string_view lines)> write, std::string name_space)
{
    return std::make_unique<emf>(std::move(write), std::move(name_space));
}

std::unique_ptr<destination> to_otlp(net::web_hook_sender& web, telemetry::otlp_options o, std::string version)
{
    return std::make_unique<otlp>(web, std::move(o), std::move(version));
}

std::unique_ptr<destination> to_cloudwatch(
    asio::any_io_executor ex, std::shared_ptr<aws::credentials_provider> keys, cloudwatch_options o, clock& time)
{
    auto const where = place_of(o);
    return std::make_unique<cloudwatch>(ex, std::move(keys), std::move(o), where, time);
}

} // namespace quern::metrics
