#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <vector>

namespace yardstick {

/// Counts values in buckets that are never wider than 1/128 of what they hold, in the manner of HdrHistogram.
class histogram {
public:
    void add(std::int64_t value)
    {
        auto const at = index(value < 0 ? 0 : static_cast<std::uint64_t>(value));
        if (at >= counts_.size()) counts_.resize(at + 1);
        ++counts_[at];
    }

    /// The least value and the count of each bucket that is not empty.
    std::map<std::uint64_t, std::uint64_t> buckets() const
    {
        std::map<std::uint64_t, std::uint64_t> out;
        for (std::size_t i = 0; i < counts_.size(); ++i)
            if (counts_[i] != 0) out[floor(i)] = counts_[i];
        return out;
    }

private:
    static constexpr int precision = 7; // bits

    // The values below 256 have a bucket each; from there on every power of two has 128.
    static std::size_t index(std::uint64_t value)
    {
        auto const shift = std::max(0, static_cast<int>(std::bit_width(value)) - (precision + 1));
        return (static_cast<std::size_t>(shift) << precision) + static_cast<std::size_t>(value >> shift);
    }
    static std::uint64_t floor(std::size_t index)
    {
        auto const shift = index < (2u << precision) ? 0 : (index >> precision) - 1;
        return static_cast<std::uint64_t>(index - (shift << precision)) << shift;
    }

    std::vector<std::uint64_t> counts_;
};

} // namespace yardstick
