#pragma once

#include <quern/broker/faults.hpp>

#include <string>

namespace quern::app {

/// Reads {"seed": 1, "everywhere": {"throttled": 0.1, "latency_max": 200, …}, "by_operation": {"ReceiveMessage":
/// {…}}}: the members of broker::fault_settings and broker::fault_rates by their names, times in milliseconds.
///
/// Fails with  errc::invalid_option  the file cannot be read, or a key or its value makes no sense; names file and
///                                   key
result<broker::fault_settings> read_faults(std::string const& path);

} // namespace quern::app
