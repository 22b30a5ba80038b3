#include <quern/telemetry/otlp_traces.hpp>

#include <quern/core/detail/text/reading.hpp>
#include <quern/telemetry/detail/otlp_json.hpp>

#include <algorithm>

namespace quern::telemetry {

using namespace quern::detail;

namespace {

using detail::nanoseconds;

void write_attributes(text::json_writer& json, span_attributes const& all)
{
    json.key("attributes").begin_array();
    for (auto const& [name, value] : all) {
        if (auto const* const text = std::get_if<std::string>(&value)) {
            detail::write_attribute(json, name, *text);
            continue;
        }
        json.begin_object().member("key", valid_utf8(name)).key("value").begin_object();
        if (auto const* const number = std::get_if<std::int64_t>(&value))
            json.member("intValue", std::to_string(*number));
        else
            json.member("boolValue", std::get<bool>(value));
        json.end_object().end_object();
    }
    json.end_array();
}

void write_context(text::json_writer& json, trace_context const& c)
{
    json.member("traceId", text_of(c.trace)).member("spanId", text_of(c.span));
    if (!c.state.empty()) json.member("traceState", valid_utf8(c.state));
    json.member("flags", c.sampled ? 1 : 0);
}

void write_span(text::json_writer& json, span const& s)
{
    json.begin_object();
    write_context(json, s.self);
    if (s.parent != span_id()) json.member("parentSpanId", text_of(s.parent));
    json.member("name", valid_utf8(s.name)).member("kind", static_cast<int>(s.kind));
    json.member("startTimeUnixNano", nanoseconds(s.began)).member("endTimeUnixNano", nanoseconds(s.ended));
    write_attributes(json, s.attributes);
    if (!s.links.empty()) {
        json.key("links").begin_array();
        for (auto const& link : s.links) {
            json.begin_object();
            write_context(json, link.to);
            write_attributes(json, link.attributes);
            json.end_object();
        }
        json.end_array();
    }
    json.key("status").begin_object();
    if (s.failed) json.member("code", 2); // STATUS_CODE_ERROR; that all is well only its owner can say
    if (s.failed && !s.why.empty()) json.member("message", valid_utf8(s.why));
    json.end_object().end_object();
}

failure wrong_variable(std::string_view variable, std::string_view why)
{
    return {errc::invalid_option, std::string(variable) + ": " + std::string(why)};
}

bool read_size(std::string const& text, std::size_t& to)
{
    if (text.empty()) return true;
    auto const n = text::number_in<std::size_t>(text);
    if (!n || *n == 0 || *n > 1'000'000) return false;
    to = *n;
    return true;
}

bool read_propagators(std::string_view text, propagators& to)
{
    if (text.empty()) return true;
    to.w3c = to.xray = false;
    while (!text.empty()) {
        auto const one = text::take_piece(text, ',');
        if (one == "tracecontext")
            to.w3c = true;
        else if (one == "xray")
            to.xray = true;
        else if (!one.empty() && one != "none" && one != "baggage")
            return false;
    }
    return true;
}

} // namespace

result<trace_options> trace_options_from(environment const& variable)
{
    trace_options out;
    auto to = otlp_options_from(variable, otlp_signal::traces);
    if (!to) return to.error();
    out.to = std::move(*to);
    auto const exporter = variable("OTEL_TRACES_EXPORTER");
    if (exporter == "none") out.to.disabled = true;
    if (!exporter.empty() && exporter != "otlp" && exporter != "none")
        return wrong_variable("OTEL_TRACES_EXPORTER", "there are otlp and none");
    auto const sampler = sampler_from(variable);
    if (!sampler) return sampler.error();
    out.sampler = *sampler;
    if (!read_propagators(variable("OTEL_PROPAGATORS"), out.propagators))
        return wrong_variable("OTEL_PROPAGATORS", "there are tracecontext, xray and none; baggage is passed over");
    if (!read_size(variable("OTEL_BSP_MAX_QUEUE_SIZE"), out.buffer))
        return wrong_variable("OTEL_BSP_MAX_QUEUE_SIZE", "is no number from 1 to 1000000");
    if (!read_size(variable("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), out.batch))
        return wrong_variable("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "is no number from 1 to 1000000");
    out.batch = std::min(out.batch, out.buffer); // or it would never be full
    return out;
}

std::string otlp_traces(std::span<span const> all, attributes const& resource, std::string_view version)
{
    std::string out;
    text::json_writer json(out);
    json.begin_object().key("resourceSpans").begin_array().begin_object();
    detail::begin_scope(json, "scopeSpans", resource, version);
    json.key("spans").begin_array();
    for (auto const& one : all)
        write_span(json, one);
    json.end_array().end_object().end_array().end_object().end_array().end_object();
    return out;
}

} // namespace quern::telemetry
