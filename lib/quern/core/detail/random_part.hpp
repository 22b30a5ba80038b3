#pragma once

#include <cstdint>
#include <random>

namespace quern::detail {

/// A random number from 0 to 1, for jitter; not for secrets. Each thread has an engine of its own, seeded by the
/// system.
inline double random_part()
{
    thread_local std::minstd_rand engine(std::random_device{}());
    return std::uniform_real_distribution<double>(0, 1)(engine);
}

/// The seed, or one of the system's where it is 0.
inline std::uint64_t seeded(std::uint64_t seed)
{
    return seed != 0 ? seed : std::random_device()();
}

} // namespace quern::detail
