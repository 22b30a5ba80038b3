#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace yardstick {

/// The first 64 bytes of a text, and its MD5 afterwards.
struct md5_lane {
    std::array<std::uint8_t, 64> head;
    std::array<std::uint8_t, 16> digest;
};

constexpr std::size_t md5_lanes = 16;

/// MD5 (RFC 1321) of sixteen texts at once that differ in their first 64 bytes and have all else, `tail`, in common.
///
/// The messages of one answer are such texts, and MD5 has nothing to do in parallel within one of them: one by one,
/// bodies of 4 KiB would cost this server more than everything else it does.
void md5(std::array<md5_lane, md5_lanes>& texts, std::string_view tail);

} // namespace yardstick
