#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace quern::telemetry::detail {

/// The numbers as they are now, of a struct that has nothing but numbers of one kind, such as
/// consumer_numbers<counter>.
template <template <class> class Numbers, class Number>
Numbers<std::uint64_t> plain_numbers(Numbers<Number> const& live)
{
    constexpr auto count = sizeof(Numbers<std::uint64_t>) / sizeof(std::uint64_t);
    static_assert(std::is_standard_layout_v<Numbers<Number>> && sizeof live == count * sizeof(Number));
    auto const* const each = reinterpret_cast<Number const*>(&live); // its first member, and those behind it
    std::array<std::uint64_t, count> out{};
    for (std::size_t i = 0; i != count; ++i)
        out[i] = each[i];
    return std::bit_cast<Numbers<std::uint64_t>>(out);
}

} // namespace quern::telemetry::detail
