#pragma once

#include <quern/consumer/limits.hpp>

#include <string>
#include <string_view>

namespace quern::app {

/// These limits, but for those that a TOML document names; "none" takes one away.
///
///     max_in_flight = 200
///     max_bytes_in_flight = 67_108_864
///     rate = "30/min"                  # as --rate
///     burst = 5
///     max_polls = 8
///     handler_concurrency = 4
///
/// `file` is its name in complaints.
///
/// Fails with  errc::invalid_option  a sentence that names file, line, column and key, and what would do instead
result<consumer_limits> limits_from(std::string_view document, std::string_view file, consumer_limits const& base);

/// The same, of a file.
result<consumer_limits> load_limits(std::string const& path, consumer_limits const& base);

} // namespace quern::app
