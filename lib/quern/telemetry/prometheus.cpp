#include <quern/core/detail/text/prometheus_page.hpp>
#include <quern/core/detail/text/reading.hpp>
#include <quern/telemetry/prometheus.hpp>

#include <utility>

namespace quern::telemetry {

using namespace quern::detail;

namespace {

using text::prometheus_page;

/// The labels of a series as they stand between the braces.
std::string label_text(reading const& r, instrument const& i, std::size_t series)
{
    std::string out;
    for (auto const& [name, value] : r.labels)
        text::append_label(out, name, valid_utf8(value));
    for (auto const& [l, value] : values_of(i, series))
        if (!l.name.empty()) text::append_label(out, l.name, valid_utf8(value));
    return out;
}

void write_distribution(prometheus_page& to, std::string const& labels, histogram const& h)
{
    std::uint64_t up_to = 0;
    for (std::size_t b = 0; b < bucket_count; ++b) {
        up_to += h.buckets[b];
        auto with_bound = labels;
        text::append_label(with_bound, "le", b == bounds.size() ? "+Inf" : to.bound(number_text(bounds[b])));
        to.sample(with_bound, std::to_string(up_to), "_bucket");
    }
    to.sample(labels, number_text(h.sum), "_sum");
    to.sample(labels, std::to_string(up_to), "_count");
}

void write_samples(prometheus_page& to, reading const& r, instrument const& i, std::size_t series)
{
    auto const labels = label_text(r, i, series);
    switch (i.what) {
    case kind::counter: return to.sample(labels, r.count(i.which, series));
    case kind::gauge: return to.sample(labels, number_text(*r.gauge(i.which, series)));
    case kind::histogram: return write_distribution(to, labels, r.distribution(i.which, series));
    }
}

void write_family(prometheus_page& to, instrument const& i, snapshot const& all)
{
    constexpr std::string_view types[] = {"counter", "gauge", "histogram"};
    bool headed = false;
    for (auto const& r : all.sources) {
        if (r.of != i.of) continue;
        for (std::size_t s = 0; s < i.series(); ++s) {
            if (is_idle(r, i, s)) continue;
            if (!std::exchange(headed, true))
                to.family(i.prometheus, types[static_cast<std::size_t>(i.what)], i.help);
            write_samples(to, r, i, s);
        }
    }
}

std::string written(snapshot const& all, prometheus_page::form how)
{
    prometheus_page out(how);
    for (auto const& i : instruments)
        write_family(out, i, all);
    return out.take();
}

} // namespace

std::string prometheus_text(snapshot const& all)
{
    return written(all, prometheus_page::form::text);
}

std::string openmetrics_text(snapshot const& all)
{
    return written(all, prometheus_page::form::openmetrics);
}

bool prefers_openmetrics(std::string_view accept)
{
    double open = 0, plain = 0;
    while (!accept.empty()) {
        auto range = text::take_piece(accept, ',');
        auto const type = text::take_piece(range, ';');
        double weight = 1;
        bool fits = true;
        while (!range.empty()) {
            auto parameter = text::take_piece(range, ';');
            auto const name = text::take_piece(parameter, '=');
            if (name == "q") weight = text::number_in<double>(parameter).value_or(0);
            if (name == "version") fits = parameter == "1.0.0" || parameter == "0.0.1" || parameter == "0.0.4";
        }
        if (!fits) continue;
        if (type == "application/openmetrics-text") open = std::max(open, weight);
        if (type == "text/plain" || type == "text/*" || type == "*/*") plain = std::max(plain, weight);
    }
    return open > 0 && open >= plain;
}

} // namespace quern::telemetry
