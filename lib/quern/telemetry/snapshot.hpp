#pragma once

#include <quern/core/clock.hpp>
#include <quern/telemetry/instruments.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::telemetry {

/// Labels that tell a source from others: {"queue", "orders"}. See otel_name() and cloudwatch_dimension() for other
/// systems.
using source_labels = std::vector<std::pair<std::string_view, std::string>>;

/// A gauge's cell that says nothing.
inline constexpr std::uint64_t absent = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());

struct histogram {
    std::array<std::uint64_t, bucket_count> buckets{}; ///< counts, each of its own
    double sum = 0;                                    ///< seconds

    std::uint64_t count() const;
    void add(histogram const&);
};

/// Numbers of one source at about one moment.
struct reading {
    part of;
    source_labels labels;
    std::vector<std::uint64_t> cells; ///< see instruments.hpp

    // Requires  the instrument is of this part, and of that kind.

    std::uint64_t count(id which, std::size_t series) const { return cells[first_cell(which) + series]; }
    std::optional<double> gauge(id, std::size_t series) const; ///< absent: it says nothing now
    histogram distribution(id, std::size_t series) const;
    void set(id, std::size_t series, double value); ///< of a gauge
};

/// All numbers of a program at about one moment.
struct snapshot {
    wall_time since; ///< counters were zero
    wall_time at;
    std::vector<reading> sources;
};

/// Tells what has happened since `before`: differences of counters and histograms, gauges as they are now. A source
/// that was not there counts from zero.
snapshot since(snapshot const& before, snapshot now);

/// The series of an instrument by their labels, its own ones.
using label_values = std::array<std::pair<label, std::string_view>, 2>; ///< without a name: none
label_values values_of(instrument const&, std::size_t series);

/// Series that would only fill the page: nothing was counted, and which there are differs from program to program.
bool is_idle(reading const&, instrument const&, std::size_t series);

/// Name of a source's label by OpenTelemetry's conventions: "messaging.destination.name" of "queue".
std::string_view otel_name(std::string_view source_label);

/// The text with a mark (U+FFFD) for what is no UTF-8: those who read metrics refuse all when one byte is wrong.
std::string valid_utf8(std::string_view);

/// The shortest text that reads as this number again: "0.005", "1e-07", "42".
std::string number_text(double);

} // namespace quern::telemetry
