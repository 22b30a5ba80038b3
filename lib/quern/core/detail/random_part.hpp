#pragma once

#include <cstdint>

namespace quern {

/// A random number from 0 to 1, for jitter; not for secrets. Each thread has an engine of its own, seeded by the
/// system.
double random_part();

/// The seed, or one of the system's where it is 0.
std::uint64_t seeded(std::uint64_t seed);

} // namespace quern
