#pragma once

#include "common/session.hpp"

#include <quern/policy/flag.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace quern::app {

/// The flag that `option` names with such a text, see parse_flag(); keys, region and profile are those of the
/// session. `interval`: how often it will be read.
///
/// Fails with  errc::invalid_option  names the option
result<std::shared_ptr<policy::flag_source>> open_flag(
    session const&, std::string const& option, std::string const& text, std::chrono::seconds interval);

} // namespace quern::app
