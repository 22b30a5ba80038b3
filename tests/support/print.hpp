#pragma once

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <ostream>
#include <ranges>
#include <type_traits>

namespace quern::test {

template <class T>
concept streamed = requires(std::ostream& to, T const& value)
{
    to << value;
};

template <class T>
concept silent = !streamed<T> && !std::is_array_v<T> && !std::is_function_v<T> && !std::is_abstract_v<T>;

/// Prints a value that has no operator<<, so that `BOOST_TEST(a == b)` shows both sides: times and durations in
/// seconds, enumerators as numbers, optionals and ranges by what is in them, anything else as its size in bytes.
template <class T>
void print(std::ostream& to, T const& value)
{
    if constexpr (streamed<T>) {
        to << value;
    } else if constexpr (std::is_enum_v<T>) {
        to << static_cast<long long>(value);
    } else if constexpr (requires { std::chrono::duration<double>(value); }) {
        to << std::chrono::duration<double>(value).count() << " s";
    } else if constexpr (requires { std::chrono::duration<double>(value.time_since_epoch()); }) {
        to << std::chrono::duration<double>(value.time_since_epoch()).count() << " s";
    } else if constexpr (requires { value.has_value(), *value; }) {
        if (value.has_value())
            print(to, *value);
        else
            to << "nothing";
    } else if constexpr (requires { value.first, value.second; }) {
        print(to, value.first);
        to << ": ";
        print(to, value.second);
    } else if constexpr (std::ranges::range<T const>) {
        to << '[';
        for (char const* gap = ""; auto const& each : value) {
            to << gap;
            print(to, each);
            gap = ", ";
        }
        to << ']';
    } else {
        to << '(' << sizeof(T) << " bytes)";
    }
}

} // namespace quern::test

template <quern::test::silent T>
struct boost::test_tools::tt_detail::print_log_value<T> {
    void operator()(std::ostream& to, T const& value) { quern::test::print(to, value); }
};
