#include <quern/core/detail/text/trimmed.hpp>
#include <quern/telemetry/prometheus.hpp>

#include <charconv>

namespace quern::telemetry {
namespace {

enum class format { text, openmetrics };

void append_escaped(std::string& to, std::string_view value, bool in_quotes)
{
    for (char const c : value) {
        if (c == '\\')
            to += "\\\\";
        else if (c == '\n')
            to += "\\n";
        else if (c == '"' && in_quotes)
            to += "\\\"";
        else
            to += c;
    }
}

/// The labels of a series as they stand between the braces, without a comma at the end.
std::string label_text(reading const& r, instrument const& i, std::size_t series)
{
    std::string out;
    auto const add = [&](std::string_view name, std::string_view value) {
        if (!out.empty()) out += ',';
        out.append(name) += "=\"";
        append_escaped(out, valid_utf8(value), true);
        out += '"';
    };
    for (auto const& [name, value] : r.labels)
        add(name, value);
    for (auto const& [l, value] : values_of(i, series))
        if (!l.name.empty()) add(l.name, value);
    return out;
}

class page {
public:
    explicit page(format how) : how_(how) {}

    void family(instrument const& i, snapshot const& all)
    {
        bool headed = false;
        for (auto const& r : all.sources) {
            if (r.of != i.of) continue;
            for (std::size_t s = 0; s < i.series(); ++s) {
                if (is_idle(r, i, s)) continue;
                if (!headed) head(i);
                headed = true;
                samples(r, i, s);
            }
        }
    }

    std::string take()
    {
        if (how_ == format::openmetrics) out_ += "# EOF\n";
        return std::move(out_);
    }

private:
    /// OpenMetrics names a family of counters without what its samples end in.
    std::string_view family_name(instrument const& i) const
    {
        auto name = i.prometheus;
        if (how_ == format::openmetrics && i.what == kind::counter)
            name.remove_suffix(std::string_view("_total").size());
        return name;
    }

    void head(instrument const& i)
    {
        constexpr std::string_view types[] = {"counter", "gauge", "histogram"};
        auto const name = family_name(i);
        out_.append("# HELP ").append(name) += ' ';
        append_escaped(out_, i.help, how_ == format::openmetrics);
        out_.append("\n# TYPE ").append(name) += ' ';
        out_.append(types[static_cast<std::size_t>(i.what)]) += '\n';
        if (how_ != format::openmetrics) return;
        for (std::string_view const unit : {"seconds", "bytes", "ratio"})
            if (name.ends_with(unit)) out_.append("# UNIT ").append(name).append(" ").append(unit) += '\n';
    }

    void samples(reading const& r, instrument const& i, std::size_t series)
    {
        auto const labels = label_text(r, i, series);
        switch (i.what) {
        case kind::counter: sample(i.prometheus, "", labels, std::to_string(r.count(i.which, series))); break;
        case kind::gauge: sample(i.prometheus, "", labels, number_text(*r.gauge(i.which, series))); break;
        case kind::histogram: {
            auto const h = r.distribution(i.which, series);
            auto const before = labels.empty() ? std::string() : labels + ",";
            std::uint64_t up_to = 0;
            for (std::size_t b = 0; b < bucket_count; ++b) {
                up_to += h.buckets[b];
                sample(i.prometheus, "_bucket", before + "le=\"" + bound(b) + '"', std::to_string(up_to));
            }
            sample(i.prometheus, "_sum", labels, number_text(h.sum));
            sample(i.prometheus, "_count", labels, std::to_string(up_to));
        }
        }
    }

    /// In OpenMetrics a bound is a number with a point.
    std::string bound(std::size_t bucket) const
    {
        if (bucket == bounds.size()) return "+Inf";
        auto text = number_text(bounds[bucket]);
        if (how_ == format::openmetrics && text.find('.') == text.npos) text += ".0";
        return text;
    }

    void sample(std::string_view name, std::string_view ending, std::string_view labels, std::string_view value)
    {
        out_.append(name).append(ending);
        if (!labels.empty()) out_.append("{").append(labels) += '}';
        out_.append(" ").append(value) += '\n';
    }

    format const how_;
    std::string out_;
};

std::string written(snapshot const& all, format how)
{
    page out(how);
    for (auto const& i : instruments)
        out.family(i, all);
    return out.take();
}

/// Takes what stands before the first `mark`, and that with it.
std::string_view next(std::string_view& rest, char mark)
{
    auto const end = rest.find(mark);
    auto const out = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    return text::trimmed(out);
}

} // namespace

std::string prometheus_text(snapshot const& all)
{
    return written(all, format::text);
}

std::string openmetrics_text(snapshot const& all)
{
    return written(all, format::openmetrics);
}

bool prefers_openmetrics(std::string_view accept)
{
    double open = 0, plain = 0;
    while (!accept.empty()) {
        auto range = next(accept, ',');
        auto const type = next(range, ';');
        double weight = 1;
        bool fits = true;
        while (!range.empty()) {
            auto parameter = next(range, ';');
            auto const name = next(parameter, '=');
            if (name == "q") {
                auto const [end, ec] = std::from_chars(parameter.data(), parameter.data() + parameter.size(), weight);
                if (ec != std::errc()) weight = 0;
            }
            if (name == "version") fits = parameter == "1.0.0" || parameter == "0.0.1" || parameter == "0.0.4";
        }
        if (!fits) continue;
        if (type == "application/openmetrics-text") open = std::max(open, weight);
        if (type == "text/plain" || type == "text/*" || type == "*/*") plain = std::max(plain, weight);
    }
    return open > 0 && open >= plain;
}

} // namespace quern::telemetry
