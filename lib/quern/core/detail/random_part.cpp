#include <quern/core/detail/random_part.hpp>

#include <random>

namespace quern {

double random_part()
{
    thread_local std::minstd_rand engine(std::random_device{}());
    return std::uniform_real_distribution<double>(0, 1)(engine);
}

std::uint64_t seeded(std::uint64_t seed)
{
    return seed != 0 ? seed : std::random_device()();
}

} // namespace quern
