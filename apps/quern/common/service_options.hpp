#pragma once

#include "common/endpoint_options.hpp"

#include <quern/aws/client_options.hpp>
#include <quern/aws/config/endpoint_rules.hpp>

namespace quern::app {

/// Settles endpoint, region and keys of a service beside SQS:
///
/// endpoint  `where.url`; AWS_ENDPOINT_URL_<service>, AWS_ENDPOINT_URL, the profile's; the region's own
/// region    `where.region`, the environment's, the profile's; us-east-1 for an endpoint that is not Amazon's
/// keys      as aws::credential_chain finds them; local_keys() for an endpoint that is not Amazon's, and no profile
///           named
result<void> settle(aws::client_options&, aws::service_name const&, endpoint_options where, aws::environment const&);

} // namespace quern::app
