#include <quern/core/detail/text/utf8.hpp>
#include <quern/telemetry/snapshot.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace quern::telemetry {

using namespace quern::detail;

std::uint64_t histogram::count() const
{
    return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t());
}

void histogram::add(histogram const& other)
{
    for (std::size_t i = 0; i < buckets.size(); ++i)
        buckets[i] += other.buckets[i];
    sum += other.sum;
}

std::optional<double> reading::gauge(id which, std::size_t series) const
{
    auto const value = std::bit_cast<double>(cells[first_cell(which) + series]);
    if (!std::isfinite(value)) return {};
    return value;
}

void reading::set(id which, std::size_t series, double value)
{
    cells[first_cell(which) + series] = std::bit_cast<std::uint64_t>(value);
}

histogram reading::distribution(id which, std::size_t series) const
{
    auto const first =
        cells.begin() + static_cast<std::ptrdiff_t>(first_cell(which) + series * cells_each(kind::histogram));
    histogram out;
    std::copy_n(first, bucket_count, out.buckets.begin());
    out.sum = static_cast<double>(first[bucket_count]) / 1e9;
    return out;
}

snapshot since(snapshot const& before, snapshot now)
{
    for (auto& s : now.sources) {
        auto const was = std::ranges::find_if(
            before.sources, [&](reading const& r) { return r.of == s.of && r.labels == s.labels; });
        if (was == before.sources.end()) continue;
        for (auto const& i : instruments) {
            if (i.of != s.of || i.what == kind::gauge) continue;
            for (auto c = first_cell(i.which), end = c + i.series() * cells_each(i.what); c != end; ++c)
                s.cells[c] -= std::min(s.cells[c], was->cells[c]);
        }
    }
    now.since = before.at;
    return now;
}

label_values values_of(instrument const& i, std::size_t series)
{
    label_values out;
    for (auto n = i.labels.size(); n-- > 0;) {
        auto const& l = i.labels[n];
        if (l.name.empty()) continue;
        out[n] = {l, l.values[series % l.values.size()]};
        series /= l.values.size();
    }
    return out;
}

bool is_idle(reading const& r, instrument const& i, std::size_t series)
{
    if (i.what == kind::gauge) return !r.gauge(i.which, series);
    if (i.of != part::client) return false;
    return i.what == kind::counter ? r.count(i.which, series) == 0 : r.distribution(i.which, series).count() == 0;
}

std::string_view otel_name(std::string_view source_label)
{
    if (source_label == "queue") return "messaging.destination.name";
    if (source_label == "dead_letter_queue") return "quern.dead_letter_queue";
    if (source_label == "tenant") return "quern.tenant";
    return source_label;
}

std::string valid_utf8(std::string_view text)
{
    return text::valid_utf8(text);
}

std::string number_text(double value)
{
    std::array<char, 32> digits;
    auto const [end, ec] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    return {digits.data(), end};
}

} // namespace quern::telemetry
