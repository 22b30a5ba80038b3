#include <quern/core/detail/text/json_writer.hpp>
#include <quern/telemetry/cloudwatch.hpp>

#include <algorithm>
#include <cctype>
#include <optional>

namespace quern::telemetry {

using namespace quern::detail;

namespace {

/// "TimedOut" of "timed_out".
std::string in_pascal(std::string_view snake)
{
    std::string out;
    bool begins = true;
    for (char const c : snake) {
        if (c != '_') out += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
        begins = c == '_';
    }
    return out;
}

std::string_view cloudwatch_unit(instrument const& i)
{
    if (i.unit == "s") return "Seconds";
    if (i.unit == "By") return "Bytes";
    return i.unit == "1" ? "None" : "Count";
}

/// One metric of a source.
struct datum {
    std::string name;
    std::string_view unit;
    std::optional<double> value;
    histogram spread; ///< where there is no value
};

/// The metrics of a source; series of one name are put together.
std::vector<datum> data_of(reading const& r)
{
    std::vector<datum> out;
    for (auto const& i : instruments) {
        if (i.of != r.of) continue;
        for (std::size_t s = 0; s < i.series(); ++s) {
            auto name = cloudwatch_name(i, s);
            if (name.empty() || is_idle(r, i, s)) continue;
            if (out.empty() || out.back().name != name) {
                out.emplace_back().name = std::move(name);
                out.back().unit = cloudwatch_unit(i);
            }
            auto& to = out.back();
            if (i.what == kind::histogram)
                to.spread.add(r.distribution(i.which, s));
            else
                to.value = to.value.value_or(0) +
                    (i.what == kind::counter ? static_cast<double>(r.count(i.which, s)) : *r.gauge(i.which, s));
        }
    }
    std::erase_if(out, [](datum const& d) { return !d.value && d.spread.count() == 0; });
    return out;
}

std::string queue_of(reading const& r)
{
    for (auto const& [name, value] : r.labels)
        if (name == "queue") return dimension_value(value);
    return {};
}

void write_values(text::json_writer& json, weighted_values const& w)
{
    json.key("Values").begin_array();
    for (auto const v : w.values)
        json.number(v);
    json.end_array().key("Counts").begin_array();
    for (auto const c : w.counts)
        json.integer(static_cast<std::int64_t>(c));
    json.end_array();
}

void write_statistics(text::json_writer& json, datum const& d)
{
    auto const w = weighted(d.spread);
    json.begin_object();
    write_values(json, w);
    json.key("Min").number(w.values.front());
    json.key("Max").number(w.values.back());
    json.member("Count", static_cast<std::int64_t>(d.spread.count()));
    json.key("Sum").number(d.spread.sum);
    json.end_object();
}

std::int64_t milliseconds(wall_time at)
{
    return std::chrono::floor<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

std::string emf_line(std::vector<datum> const& data, std::string const& queue, wall_time at, std::string_view space)
{
    std::string out;
    text::json_writer json(out);
    json.begin_object().key("_aws").begin_object().member("Timestamp", milliseconds(at));
    json.key("CloudWatchMetrics").begin_array().begin_object().member("Namespace", space);
    json.key("Dimensions").begin_array().begin_array().string("QueueName").end_array().end_array();
    json.key("Metrics").begin_array();
    for (auto const& d : data)
        json.begin_object().member("Name", d.name).member("Unit", d.unit).end_object();
    json.end_array().end_object().end_array().end_object().member("QueueName", queue);
    for (auto const& d : data) {
        json.key(d.name);
        if (d.value)
            json.number(*d.value);
        else
            write_statistics(json, d);
    }
    json.end_object();
    return out += '\n';
}

std::string datum_text(datum const& d, std::string const& queue, wall_time at)
{
    std::string out;
    text::json_writer json(out);
    json.begin_object().member("MetricName", d.name).key("Dimensions").begin_array().begin_object();
    json.member("Name", "QueueName").member("Value", queue).end_object().end_array();
    json.member("Timestamp", milliseconds(at) / 1'000).member("Unit", d.unit);
    if (d.value)
        json.key("Value").number(*d.value);
    else
        write_values(json, weighted(d.spread));
    json.end_object();
    return out;
}

} // namespace

std::string cloudwatch_name(instrument const& i, std::size_t series)
{
    auto const colon = i.cloudwatch.find(':');
    std::string out(i.cloudwatch.substr(0, colon));
    auto const value = values_of(i, series)[0].second;
    if (colon != i.cloudwatch.npos && i.cloudwatch.substr(colon + 1) != value) return {};
    if (auto const star = out.find('*'); star != out.npos) out.replace(star, 1, in_pascal(value));
    return out;
}

/// All of them as far into their buckets as the sum says: of 0.1 .. 0.25 and 0.25 .. 0.5, say, each a third.
weighted_values weighted(histogram const& h)
{
    auto const lower = [](std::size_t b) { return b == 0 ? 0. : bounds[b - 1]; };
    auto const upper = [](std::size_t b) { return b < bounds.size() ? bounds[b] : 2 * bounds.back(); };
    double least = 0, most = 0;
    for (std::size_t b = 0; b < bucket_count; ++b) {
        least += lower(b) * static_cast<double>(h.buckets[b]);
        most += upper(b) * static_cast<double>(h.buckets[b]);
    }
    auto const part = most > least ? std::clamp((h.sum - least) / (most - least), 0., 1.) : 0.;
    weighted_values out;
    for (std::size_t b = 0; b < bucket_count; ++b) {
        if (h.buckets[b] == 0) continue;
        auto value = lower(b) + part * (upper(b) - lower(b));
        if (b == bounds.size() && h.sum > most) value += (h.sum - most) / static_cast<double>(h.buckets[b]);
        out.values.push_back(std::max(value, 1e-9)); // equal values would have to be one
        out.counts.push_back(h.buckets[b]);
    }
    return out;
}

std::string emf_lines(snapshot const& difference, std::string_view name_space)
{
    std::string out;
    for (auto const& r : difference.sources) {
        auto const queue = queue_of(r);
        auto const data = data_of(r);
        if (!queue.empty() && !data.empty()) out += emf_line(data, queue, difference.at, name_space);
    }
    return out;
}

std::vector<std::string> put_metric_data_bodies(
    snapshot const& difference, std::string_view name_space, put_metric_data_limits limits)
{
    std::string head = R"({"Namespace":)";
    text::append_json_string(head, name_space);
    head += R"(,"MetricData":[)";
    std::vector<std::string> out;
    std::size_t in_last = 0;
    auto const add = [&](std::string const& text) {
        if (out.empty() || in_last == limits.metrics || out.back().size() + text.size() + 3 > limits.bytes) {
            out.push_back(head);
            in_last = 0;
        }
        if (in_last++ != 0) out.back() += ',';
        out.back() += text;
    };
    for (auto const& r : difference.sources) {
        auto const queue = queue_of(r);
        if (queue.empty()) continue;
        for (auto const& d : data_of(r))
            add(datum_text(d, queue, difference.at));
    }
    for (auto& body : out)
        body += "]}";
    return out;
}

std::string dimension_value(std::string_view text)
{
    std::string out(text.substr(0, 1'024));
    std::ranges::replace_if(
        out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e; },
        '?');
    return out.find_first_not_of(' ') == out.npos ? std::string() : out;
}

} // namespace quern::telemetry
