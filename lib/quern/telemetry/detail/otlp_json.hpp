#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/telemetry/otlp.hpp>

#include <string>
#include <string_view>

namespace quern::telemetry::detail {

// Parts that all signals of OTLP share, in its JSON.

/// Nanoseconds since 1970, in a string: JSON's numbers cannot hold them.
std::string nanoseconds(wall_time);

void write_attribute(quern::detail::text::json_writer&, std::string_view name, std::string_view value);

/// Members `resource`, and `scope` within the array `scopes`: the caller goes on within the only scope, and ends its
/// object, the array and the resource's object.
void begin_scope(
    quern::detail::text::json_writer&, std::string_view scopes, attributes const& resource, std::string_view version);

} // namespace quern::telemetry::detail
