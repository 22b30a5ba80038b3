#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace quern::sim {

/// The same draws with every standard library, whose distributions differ.
class dice {
public:
    explicit dice(std::uint64_t seed) : random_(seed) {}

    std::int64_t between(std::int64_t low, std::int64_t high)
    {
        return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
    }
    std::chrono::milliseconds between(std::chrono::milliseconds low, std::chrono::milliseconds high)
    {
        return std::chrono::milliseconds(between(low.count(), high.count()));
    }
    double up_to(double most) { return most * static_cast<double>(random_() >> 11) * 0x1p-53; }
    bool one_in(int n) { return between(1, n) == 1; }

private:
    std::mt19937_64 random_;
};

} // namespace quern::sim
