#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/detail/text/reading.hpp>
#include <quern/telemetry/detail/otlp_json.hpp>
#include <quern/telemetry/otlp.hpp>

#include <algorithm>
#include <optional>

namespace quern::telemetry {

using namespace quern::detail;

std::string detail::nanoseconds(wall_time at)
{
    return std::to_string(std::chrono::floor<std::chrono::nanoseconds>(at.time_since_epoch()).count());
}

void detail::write_attribute(text::json_writer& json, std::string_view name, std::string_view value)
{
    json.begin_object().member("key", valid_utf8(name)).key("value").begin_object();
    json.member("stringValue", valid_utf8(value)).end_object().end_object();
}

void detail::begin_scope(
    text::json_writer& json, std::string_view scopes, attributes const& resource, std::string_view version)
{
    json.key("resource").begin_object().key("attributes").begin_array();
    for (auto const& [name, value] : resource)
        write_attribute(json, name, name == "service.name" && value.empty() ? "unknown_service:quern" : value);
    json.end_array().end_object().key(scopes).begin_array().begin_object();
    json.key("scope").begin_object().member("name", "quern").member("version", valid_utf8(version)).end_object();
}

namespace {

using detail::nanoseconds;
using detail::write_attribute;

/// Attributes and times, which every point has. A gauge has no beginning.
void begin_point(
    text::json_writer& json, snapshot const& all, reading const& r, instrument const& i, std::size_t series)
{
    json.begin_object().key("attributes").begin_array();
    if (i.otel.starts_with("messaging.")) write_attribute(json, "messaging.system", "aws_sqs");
    if (i.which == id::messages_received) write_attribute(json, "messaging.operation.name", "receive");
    if (i.which == id::process_duration) write_attribute(json, "messaging.operation.name", "process");
    for (auto const& [name, value] : r.labels)
        write_attribute(json, otel_name(name), value);
    for (auto const& [l, value] : values_of(i, series))
        if (!l.name.empty()) write_attribute(json, l.otel.empty() ? l.name : l.otel, value);
    json.end_array();
    if (i.what != kind::gauge) json.member("startTimeUnixNano", nanoseconds(all.since));
    json.member("timeUnixNano", nanoseconds(all.at));
}

void write_point(
    text::json_writer& json, snapshot const& all, reading const& r, instrument const& i, std::size_t series)
{
    begin_point(json, all, r, i, series);
    if (i.what == kind::counter) {
        json.member("asInt", std::to_string(r.count(i.which, series)));
    } else if (i.what == kind::gauge) {
        json.key("asDouble").number(*r.gauge(i.which, series));
    } else {
        auto const h = r.distribution(i.which, series);
        json.member("count", std::to_string(h.count())).key("sum").number(h.sum);
        json.key("bucketCounts").begin_array();
        for (auto const n : h.buckets)
            json.string(std::to_string(n));
        json.end_array().key("explicitBounds").begin_array();
        for (auto const b : bounds)
            json.number(b);
        json.end_array();
    }
    json.end_object();
}

struct place {
    reading const* of;
    std::size_t series;
};

std::vector<place> points_of(snapshot const& all, instrument const& i)
{
    std::vector<place> out;
    for (auto const& r : all.sources) {
        if (r.of != i.of) continue;
        for (std::size_t s = 0; s < i.series(); ++s)
            if (!is_idle(r, i, s)) out.push_back({&r, s});
    }
    return out;
}

void write_metric(text::json_writer& json, snapshot const& all, instrument const& i)
{
    constexpr std::string_view shapes[] = {"sum", "gauge", "histogram"};
    auto const points = points_of(all, i);
    if (points.empty() || i.otel.empty()) return;
    json.begin_object().member("name", i.otel).member("description", i.help).member("unit", i.unit);
    json.key(shapes[static_cast<std::size_t>(i.what)]).begin_object();
    if (i.what != kind::gauge) json.member("aggregationTemporality", 2); // cumulative
    if (i.what == kind::counter) json.member("isMonotonic", true);
    json.key("dataPoints").begin_array();
    for (auto const& p : points)
        write_point(json, all, *p.of, i, p.series);
    json.end_array().end_object().end_object();
}

failure wrong(std::string_view variable, std::string_view why)
{
    return {errc::invalid_option, std::string(variable) + ": " + std::string(why)};
}

std::optional<std::string> decoded(std::string_view text)
{
    for (auto at = text.find('%'); at != text.npos; at = text.find('%', at + 1)) {
        auto const digits = text.substr(at + 1, 2);
        if (digits.size() != 2 || text::hex_digit(digits[0]) < 0 || text::hex_digit(digits[1]) < 0) return {};
    }
    return text::percent_decoded(text);
}

/// "a=b,c=d%20e", as W3C's baggage has it.
std::optional<attributes> pairs_of(std::string_view text)
{
    attributes out;
    while (!text.empty()) {
        auto const one = text::take_piece(text, ',');
        if (one.empty()) continue;
        auto const equals = one.find('=');
        if (equals == one.npos) return {};
        auto name = decoded(text::trimmed(one.substr(0, equals)));
        auto value = decoded(text::trimmed(one.substr(equals + 1)));
        if (!name || name->empty() || !value) return {};
        out.emplace_back(std::move(*name), std::move(*value));
    }
    return out;
}

void set(attributes& in, std::string_view name, std::string value)
{
    auto const at = std::ranges::find(in, name, [](auto const& pair) { return std::string_view(pair.first); });
    if (at == in.end())
        in.emplace_back(name, std::move(value));
    else
        at->second = std::move(value);
}

} // namespace

std::string otlp_metrics(snapshot const& all, attributes const& resource, std::string_view version)
{
    std::string out;
    text::json_writer json(out);
    json.begin_object().key("resourceMetrics").begin_array().begin_object();
    detail::begin_scope(json, "scopeMetrics", resource, version);
    json.key("metrics").begin_array();
    for (auto const& i : instruments)
        write_metric(json, all, i);
    json.end_array().end_object().end_array().end_object().end_array().end_object();
    return out;
}

result<otlp_options> otlp_options_from(environment const& variable, otlp_signal of)
{
    bool const traces = of == otlp_signal::traces;
    auto out = traces ? otlp_options::for_traces() : otlp_options();
    std::string const own = traces ? "OTEL_EXPORTER_OTLP_TRACES_" : "OTEL_EXPORTER_OTLP_METRICS_";
    std::string name; // of the variable that was read last
    auto const said = [&](char const* which) {
        name = own + which;
        auto text = variable(name.c_str());
        if (!text.empty()) return text;
        name = std::string("OTEL_EXPORTER_OTLP_") + which;
        return variable(name.c_str());
    };
    auto const duration = [&](std::string const& text, std::chrono::milliseconds& to) {
        auto const ms = text::number_in<std::int64_t>(text);
        bool const good = ms && *ms > 0 && *ms <= 86'400'000;
        if (good) to = std::chrono::milliseconds(*ms);
        return text.empty() || good;
    };

    if (auto url = variable((own + "ENDPOINT").c_str()); !url.empty()) {
        out.url = std::move(url);
    } else if (auto base = variable("OTEL_EXPORTER_OTLP_ENDPOINT"); !base.empty()) {
        out.url = base + (base.ends_with('/') ? "v1/" : "/v1/") + (traces ? "traces" : "metrics");
    }
    // The default that OpenTelemetry names is http/protobuf; whoever has not chosen gets what there is.
    auto const protocol = said("PROTOCOL");
    if (!protocol.empty() && protocol != "http/json") return wrong(name, "only http/json is spoken here");
    auto const packed = said("COMPRESSION");
    if (!packed.empty() && packed != "none") return wrong(name, "nothing is compressed here: none");
    auto const headers = pairs_of(said("HEADERS"));
    if (!headers) return wrong(name, "is no list of name=value");
    out.headers = *headers;
    if (!duration(said("TIMEOUT"), out.timeout)) return wrong(name, "is no number of milliseconds");
    auto const* const interval = traces ? "OTEL_BSP_SCHEDULE_DELAY" : "OTEL_METRIC_EXPORT_INTERVAL";
    if (!duration(variable(interval), out.interval)) return wrong(interval, "is no number of milliseconds");
    auto const resource = pairs_of(variable("OTEL_RESOURCE_ATTRIBUTES"));
    if (!resource) return wrong("OTEL_RESOURCE_ATTRIBUTES", "is no list of name=value");
    for (auto const& [key, value] : *resource)
        set(out.resource, key, value);
    if (auto service = variable("OTEL_SERVICE_NAME"); !service.empty())
        set(out.resource, "service.name", std::move(service));
    out.disabled = text::equal_ignoring_case(variable("OTEL_SDK_DISABLED"), "true");
    return out;
}

} // namespace quern::telemetry
