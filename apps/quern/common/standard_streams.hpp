#pragma once

#include <quern/core/error.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <utility>

namespace quern::app {

/// Takes the numbers of standard input, output and error where these are closed: a socket that got one would be read
/// from or written to in their place. Reading and writing them fails as before.
void hold_standard_streams();

/// Formats and writes. Unlike fmt::print() it does not throw when it cannot: of standard output flush_output() tells
/// in the end, and a standard error that takes nothing must not end what the program is about.
template <class... T>
void say(std::FILE* to, fmt::format_string<T...> format, T&&... values)
{
    auto const text = fmt::format(format, std::forward<T>(values)...);
    std::fwrite(text.data(), 1, text.size(), to);
}

/// JSON with escapes for the control characters that it need not escape, and that a terminal obeys: DEL and C1.
std::string harmless(std::string json);

/// Fails when something that was said on standard output is lost.
result<void> flush_output();

} // namespace quern::app
