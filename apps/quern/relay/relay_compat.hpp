#pragma once

#include "relay/relay_settings.hpp"

#include <quern/aws/config/environment.hpp>
#include <quern/core/error.hpp>

#include <string>
#include <vector>

namespace quern::app {

/// Takes the place of another relay: reads its variables, and sets its headers and its statuses.
///
/// carrier  CARRIER_*: amplify-security/carrier. Only 200 deletes; X-Carrier- headers
/// sqsd     SQSD_*: mogadanez/sqsd and fterrag/simple-sqsd. Only 200 deletes, as with the daemon of Elastic
///          Beanstalk; every failure comes again after 2 s; X-Aws-Sqsd- headers
///
/// `names`: those of all variables that are set, so that one that is not known here does not go unnoticed. What asks
/// for something that this relay does not do is refused.
///
/// Fails with  errc::invalid_option  a sentence that begins with the variable
result<void> read_compat(std::string const& profile, aws::environment const&, std::vector<std::string> const& names,
    relay_settings& into, std::vector<std::string>& warnings);

/// Names of the variables of this process.
std::vector<std::string> variable_names();

} // namespace quern::app
