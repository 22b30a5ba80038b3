#pragma once

namespace quern {

/// A random number from 0 to 1, for jitter; not for secrets. Each thread has an engine of its own, seeded by the
/// system.
double random_part();

} // namespace quern
