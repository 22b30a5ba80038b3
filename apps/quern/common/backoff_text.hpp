#pragma once

#include <quern/core/error.hpp>
#include <quern/policy/backoff.hpp>

#include <string_view>

namespace quern::app {

/// Reads a series of delays, as options and files of settings write it: its kind, its first delay, and what differs
/// from the library's defaults, with commas between.
///
///     exponential,1s,factor=2,cap=15m,jitter=half     doubled with each receive
///     linear,10s,step=10s,cap=5m                      step: the first delay unless it is given
///     fibonacci,1s
///     5s,30s,2m,10m                                   a list, the last of which repeats; without jitter
///
/// `jitter`: none, half, full, or a part from 0 to 1.
///
/// Fails with  errc::invalid_option  the end of a sentence that the option's name begins
result<policy::backoff> backoff_from(std::string_view text);

} // namespace quern::app
