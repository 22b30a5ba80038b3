#include "consume/metrics_export.hpp"

#include "common/complaint.hpp"
#include "common/otlp_web.hpp"
#include "common/standard_streams.hpp"

#include <quern/metrics/destinations.hpp>
#include <quern/metrics/sampler.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include <map>
#include <optional>
#include <utility>

namespace quern::app {

namespace asio = boost::asio;

/// The part that outlives the export when that does not end in time.
struct metrics_export::station : std::enable_shared_from_this<station> {
    explicit station(session& s) : io(s.io), sqs(s.sqs), all(QUERN_VERSION), over(real_clock(), io.get_executor()) {}

    template <class Work>
    void spawn(Work& what)
    {
        ++at_work;
        asio::co_spawn(io, what.run(), [self = shared_from_this()](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
            if (--self->at_work == 0) self->over.ring();
        });
    }

    asio::io_context& io;
    sqs::api& sqs;
    metrics::collection all;
    std::map<std::string, std::shared_ptr<metrics::consumer_metrics>> queues;
    std::optional<otlp_web> web;
    std::unique_ptr<metrics::destination> to;
    metrics::exporter_options how;
    std::optional<metrics::exporter> exporter;
    std::optional<metrics::sampler> sampler;
    int at_work = 0;
    alarm over;
};

metrics_export::metrics_export(std::shared_ptr<station> at) : at_(std::move(at)) {}
metrics_export::~metrics_export() = default;

result<std::unique_ptr<metrics_export>> metrics_export::to(session& s, std::string const& form, bool shown)
try {
    std::unique_ptr<metrics_export> none;
    if (form.empty() && !shown) return none;
    auto const at = std::make_shared<station>(s);
    at->how.log = to_stderr();
    if (form == "emf") {
        at->to = metrics::to_emf([](std::string_view lines) { say(stderr, "{}", lines); });
    } else if (form == "otlp") {
        auto options = telemetry::otlp_options_from(aws::process_environment);
        if (!options) return options.error();
        if (options->disabled) return to(s, {}, shown);
        at->how.every = options->interval;
        at->web.emplace(s, *options);
        at->to = metrics::to_otlp(at->web->sender(), std::move(*options), QUERN_VERSION);
    } else if (form == "cloudwatch") {
        metrics::cloudwatch_options options;
        options.region = s.options.where.region;
        at->to = metrics::to_cloudwatch(s.io.get_executor(), s.sqs.credentials(), std::move(options));
    }
    return std::unique_ptr<metrics_export>(new metrics_export(at));
} catch (boost::system::system_error const& e) {
    return failure(errc::invalid_option, "--metrics " + form + ": " + e.what());
}

metrics::collection& metrics_export::all()
{
    return at_->all;
}

std::function<void(std::size_t)> metrics_export::count_dropped() const
{
    return [at = at_](std::size_t spans) { at->all.drop_spans(spans); };
}

std::shared_ptr<observer> metrics_export::of_queue(std::string const& url)
{
    auto& its = at_->queues[url];
    if (!its) its = at_->all.consumer(url);
    return its;
}

std::shared_ptr<sqs::request_observer> metrics_export::of_client()
{
    return at_->all.client();
}

telemetry::source_labels const& metrics_export::labels_of(std::string const& url) const
{
    return at_->queues.at(url)->labels();
}

void metrics_export::begin(consume_work const& consumers)
{
    auto const ex = at_->io.get_executor();
    metrics::sampler_options looks;
    looks.log = to_stderr();
    at_->sampler.emplace(ex, at_->sqs, at_->all, std::move(looks));
    for (auto const& q : consumers.queues()) {
        auto const& its = at_->queues.at(q.url);
        its->follow(q.of);
        at_->sampler->add(q.of, q.url, its);
    }
    at_->spawn(*at_->sampler);
    if (!at_->to) return;
    at_->exporter.emplace(ex, at_->all, *at_->to, at_->how);
    at_->spawn(*at_->exporter);
}

asio::awaitable<void> metrics_export::finish(std::chrono::milliseconds limit)
{
    auto const at = at_;
    at->sampler->end();
    if (at->exporter) at->exporter->end();
    auto const until = real_clock().now() + limit;
    bool in_time = true;
    while (at->at_work != 0 && in_time)
        in_time = co_await at->over.wait(until);
    if (at->at_work != 0) log_line(log_level::warning, "metrics: the last export took too long, and was left");
}

} // namespace quern::app
