#pragma once

#include <boost/version.hpp>

#include <cstddef>

namespace quern::net {

/// How many bytes of a body in chunks Beast has to be shown at least. Until Boost 1.86 it takes the last chunk in
/// one piece, of which "0\r\n\r\n" is the shortest, and asserts that it is never shown less; from 1.87 on it takes
/// "0\r\n" by itself and then waits for the two bytes behind it.
constexpr std::size_t least_of_chunks = BOOST_VERSION >= 108700 ? 1 : 5;

} // namespace quern::net
