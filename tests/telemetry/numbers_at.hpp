#pragma once

#include <quern/telemetry/numbers.hpp>

#include <string>
#include <utility>

namespace quern::test {

using namespace std::chrono_literals;

inline wall_time const noon{std::chrono::sys_days(std::chrono::year(2026) / 11 / 22) + 12h};

/// One source as the only one of a program that began an hour ago.
inline telemetry::snapshot only(telemetry::numbers const& n, wall_time at = noon)
{
    return {noon - 1h, at, {n.read()}};
}

inline telemetry::numbers consumer_of(std::string queue)
{
    return {telemetry::part::consumer, {{"queue", std::move(queue)}}};
}

/// Names that somebody may have given a queue where nobody checks them.
inline std::string const hostile = "or\"de\\rs\n# TYPE x\xff\xc3";

} // namespace quern::test
