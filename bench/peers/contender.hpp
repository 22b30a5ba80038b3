// What the contenders written in C++ share: the harness' settings, and what their handlers count.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {

inline std::uint64_t number(std::string_view text)
{
    std::uint64_t out = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), out).ec != std::errc())
        throw std::runtime_error("not a number: " + std::string(text));
    return out;
}

inline std::string variable(char const* name, char const* otherwise)
{
    auto const* value = std::getenv(name);
    return value ? value : otherwise;
}

/// Counts of the handlers of one thread.
struct tally {
    std::uint64_t handled = 0, failed = 0;
    std::map<std::uint64_t, std::uint64_t> latency; ///< in microseconds, all but the two highest digits zero

    /// Counts how late a message is, which says in its first 16 digits when it was due.
    void meet(std::string_view body)
    {
        auto const now = std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
        auto const late = static_cast<std::uint64_t>(now.time_since_epoch().count()) - number(body.substr(0, 16));
        std::uint64_t unit = 1;
        while (late / unit >= 100)
            unit *= 10;
        ++latency[late / unit * unit];
    }

    void add(tally const& other)
    {
        handled += other.handled;
        failed += other.failed;
        for (auto const& [value, many] : other.latency)
            latency[value] += many;
    }

    /// Writes what the harness reads in the end.
    void report(std::string_view version) const
    {
        std::ofstream out(variable("BENCH_RESULT", "/dev/null"));
        out << R"({"handled": )" << handled << R"(, "failed": )" << failed << R"(, "version": ")" << version
            << R"(", "latency_us": {)";
        auto const* between = "";
        for (auto const& [value, many] : latency) {
            out << between << '"' << value << "\": " << many;
            between = ", ";
        }
        out << "}}\n";
    }
};

} // namespace bench
