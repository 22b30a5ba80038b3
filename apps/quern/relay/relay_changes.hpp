#pragma once

#include <quern/core/error.hpp>

#include <map>
#include <string>
#include <vector>

namespace quern::app {

/// Settings of a relay as they were written, by their keys: "tls.ca".
using relay_texts = std::map<std::string, std::string, std::less<>>;

/// Keys that differ and that a running relay does not take up.
std::vector<std::string> need_restart(relay_texts const& before, relay_texts const& after);

/// Whether the files that the next start would read are there.
///
/// Fails with  errc::invalid_option  the first that is not, by its key
result<void> check_files(relay_texts const&);

} // namespace quern::app
