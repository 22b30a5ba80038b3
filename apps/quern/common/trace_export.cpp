#include "common/trace_export.hpp"

#include "common/command_line.hpp"
#include "common/complaint.hpp"
#include "common/log_format.hpp"
#include "common/otlp_web.hpp"

#include <quern/tracing/span_exporter.hpp>
#include <quern/tracing/traced_api.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include <utility>

namespace quern::app {

namespace asio = boost::asio;

void add_traces_option(command& to, trace_choice& o)
{
    to.add({"--traces FORM", o.form,
        "Send traces, as otlp: to http://localhost:4318, or where the variables OTEL_* say; default: none",
        one_of_told({"otlp"})});
}

/// The part that outlives the export when that does not end in time.
struct trace_export::station : std::enable_shared_from_this<station> {
    station(session& s, telemetry::trace_options o, bool links)
        : io(s.io), how(links ? tracing::correlation::links : tracing::correlation::parent),
          spans(std::make_shared<tracing::tracer>(std::move(o))), over(real_clock(), io.get_executor())
    {}

    std::optional<telemetry::trace_context> context_of(std::string_view message_id) const
    {
        for (auto const& its : queues)
            if (auto found = its->context_of(message_id)) return found;
        return {};
    }

    asio::io_context& io;
    tracing::correlation how;
    std::shared_ptr<tracing::tracer> spans;
    std::optional<otlp_web> web;
    std::unique_ptr<tracing::span_destination> to;
    std::optional<tracing::traced_api> api;
    std::vector<std::shared_ptr<tracing::message_traces>> queues;
    std::optional<tracing::span_exporter> exporter;
    bool is_over = false;
    alarm over;
};

trace_export::trace_export(std::shared_ptr<station> at) : at_(std::move(at)) {}

trace_export::~trace_export()
{
    name_traces_in_log({});
}

result<std::shared_ptr<trace_export>> trace_export::to(session& s, trace_choice const& choice)
try {
    std::shared_ptr<trace_export> none;
    if (choice.form.empty()) return none;
    auto options = telemetry::trace_options_from(aws::process_environment);
    if (!options) return options.error();
    if (options->to.disabled) return none;
    auto const at = std::make_shared<station>(s, *options, choice.links);
    at->web.emplace(s, options->to);
    at->to = tracing::to_otlp(at->web->sender(), std::move(options->to), QUERN_VERSION);
    return std::shared_ptr<trace_export>(new trace_export(at));
} catch (boost::system::system_error const& e) {
    return failure(errc::invalid_option, "--traces " + choice.form + ": " + e.what());
}

tracing::tracer& trace_export::spans()
{
    return *at_->spans;
}

sqs::api& trace_export::around(sqs::api& client)
{
    return at_->api.emplace(client, at_->spans);
}

std::shared_ptr<observer> trace_export::of_queue(std::string const& url, std::shared_ptr<observer> next)
{
    return at_->queues.emplace_back(at_->api->of_queue(url, std::move(next), at_->how));
}

std::optional<telemetry::trace_context> trace_export::context_of(std::string_view message_id) const
{
    return at_->context_of(message_id);
}

void trace_export::begin(std::function<void(std::size_t)> dropped)
{
    name_traces_in_log([at = std::weak_ptr(at_)](std::string_view message_id) {
        auto const its = at.lock();
        return its ? its->context_of(message_id) : std::nullopt;
    });
    tracing::span_exporter_options how;
    how.dropped = std::move(dropped);
    how.log = to_stderr();
    at_->exporter.emplace(at_->io.get_executor(), *at_->spans, *at_->to, std::move(how));
    asio::co_spawn(at_->io, at_->exporter->run(), [at = at_](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
        at->is_over = true;
        at->over.ring();
    });
}

asio::awaitable<void> trace_export::finish(std::chrono::milliseconds limit)
{
    auto const at = at_;
    at->exporter->end();
    auto const until = real_clock().now() + limit;
    bool in_time = true;
    while (!at->is_over && in_time)
        in_time = co_await at->over.wait(until);
    if (!at->is_over) log_line(log_level::warning, "traces: the last export took too long, and was left");
}

std::vector<std::string> trace_variables(telemetry::trace_context const& c)
{
    return {"TRACEPARENT=" + telemetry::traceparent(c), "TRACESTATE=" + c.state};
}

std::optional<telemetry::trace_context> context_of_process()
{
    return telemetry::read_w3c(aws::process_environment("TRACEPARENT"), aws::process_environment("TRACESTATE"));
}

} // namespace quern::app
