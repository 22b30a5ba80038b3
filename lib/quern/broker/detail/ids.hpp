#pragma once

#include <cstdint>
#include <string>

namespace quern::broker::detail {

/// Spreads a counter or a key over all 64 bits (SplitMix64, Steele, Lea and Flood 2014).
constexpr std::uint64_t mixed(std::uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/// The names that the broker gives. Equal seeds, equal names in the same order.
class id_source {
public:
    explicit id_source(std::uint64_t seed) : key_(mixed(seed)) {}

    /// Version 4 UUID, as message ids and move tasks have: "f47ac10b-58cc-4372-a567-0e02b2c3d479".
    std::string uuid();

    /// 20 decimal digits, always greater than the one before (SQS: up to 128 bit, not consecutive).
    std::string sequence_number();
    std::uint64_t last_sequence() const { return sequence_; }
    void continue_after(std::uint64_t last_sequence) { sequence_ = last_sequence; }

private:
    std::uint64_t key_;
    std::uint64_t uuids_ = 0;
    std::uint64_t sequence_ = 0;
};

} // namespace quern::broker::detail
