#pragma once

#include <quern/core/clock.hpp>
#include <quern/telemetry/counter.hpp>
#include <quern/telemetry/instruments.hpp>
#include <quern/telemetry/snapshot.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace quern::telemetry {

/// Numbers of one source: cells that one strand changes and any thread reads. Nothing is locked and nothing allocated
/// once it is made.
///
/// A reading taken while they change may have one event in one cell and not yet in another; no cell is ever half
/// written. So whoever scrapes does not wait for the strand, and hears of one that is stuck.
///
/// Threads  changes on one strand; read() on any.
class numbers {
public:
    /// `labels` tell this source from others of its part.
    numbers(part of, source_labels labels) : of_(of), labels_(std::move(labels)), cells_(cell_count(of))
    {
        for (auto const& i : instruments)
            if (i.of == of && i.what == kind::gauge)
                for (std::size_t s = 0; s < i.series(); ++s)
                    cells_[first_cell(i.which) + s] = absent;
    }

    void add(id which, std::size_t series = 0, std::uint64_t n = 1) { cells_[first_cell(which) + series] += n; }
    std::uint64_t count(id which, std::size_t series = 0) const { return cells_[first_cell(which) + series]; }

    void set(id which, std::size_t series, double value)
    {
        cells_[first_cell(which) + series] = std::bit_cast<std::uint64_t>(value);
    }
    void take_away(id which, std::size_t series = 0) { cells_[first_cell(which) + series] = absent; }

    void record(id which, tick::duration took, std::size_t series = 0)
    {
        auto const ns = static_cast<std::uint64_t>(std::max(took, tick::duration()).count());
        auto* const at = &cells_[first_cell(which) + series * cells_each(kind::histogram)];
        ++at[bucket_of(ns)];
        at[bucket_count] += ns;
    }

    reading read() const
    {
        reading out{of_, labels_, {}};
        out.cells.assign(cells_.begin(), cells_.end());
        return out;
    }

    source_labels const& labels() const { return labels_; }

    /// The first whose bound is not below so many nanoseconds.
    static std::size_t bucket_of(std::uint64_t ns)
    {
        std::size_t const at = start[static_cast<std::size_t>(std::bit_width(ns))];
        auto const next = at + (ns > limits[at] ? 1u : 0u);
        return next + (ns > limits[next] ? 1u : 0u);
    }

private:
    static_assert(tick::duration::period::den == 1'000'000'000);

    static constexpr auto limits = [] {
        std::array<std::uint64_t, bucket_count> out{};
        for (std::size_t i = 0; i < bounds.size(); ++i)
            out[i] = static_cast<std::uint64_t>(bounds[i] * 1e9 + 0.5);
        out.back() = ~std::uint64_t();
        return out;
    }();

    /// Bucket of the smallest number with so many bits. The largest is two buckets further at most.
    static constexpr auto start = [] {
        std::array<std::uint8_t, 65> out{};
        for (std::size_t bits = 0; bits <= 64; ++bits) {
            auto const least = bits == 0 ? 0 : std::uint64_t(1) << (bits - 1);
            while (least > limits[out[bits]])
                ++out[bits];
        }
        return out;
    }();
    static constexpr bool two_steps_are_enough = [] {
        for (std::size_t bits = 1; bits < 64; ++bits)
            if (start[bits + 1] > start[bits] + 2) return false;
        return true;
    }();
    static_assert(two_steps_are_enough);

    part const of_;
    source_labels const labels_;
    std::vector<counter> cells_;
};

} // namespace quern::telemetry
