#pragma once

#include <cstddef>

namespace quern::net {

/// The shortest last chunk is "0\r\n\r\n", and Beast 345 asserts that it is never shown less of one.
constexpr std::size_t least_of_chunks = 5;

} // namespace quern::net
