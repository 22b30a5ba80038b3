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
/// sqsd     SQSD_*: mogadanez/sqsd and fterrag/simple-sqsd, and the file of Elastic Beanstalk's daemon. Only 200
///          deletes, as with that; every failure comes again after 2 s; X-Aws-Sqsd- headers; the attribute
///          beanstalk.sqsd.path; requests at once, and their time, as with the program whose variables these are
///
/// `sqsd_config`: that file; empty: the usual one, where there is one.
///
/// `names`: those of all variables that are set, so that one that is not known here does not go unnoticed. What asks
/// for something that this relay does not do is refused.
///
/// Fails with  errc::invalid_option  a sentence that begins with the variable
result<void> read_compat(std::string const& profile, aws::environment const&, std::vector<std::string> const& names,
    std::string const& sqsd_config, relay_settings& into, std::vector<std::string>& warnings);

} // namespace quern::app
