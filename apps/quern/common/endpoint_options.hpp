#pragma once

#include <quern/sqs/client.hpp>

#include <string>
#include <string_view>

namespace quern::app {

/// Where SQS is, as far as the command line says so.
struct endpoint_options {
    std::string url;     ///< --endpoint
    std::string region;  ///< --region
    std::string profile; ///< --profile
};

/// The keys of the environment; test/test where it has none. For a broker on this machine, and for those who talk to
/// it.
result<aws::credentials> local_keys(aws::environment const&);

/// Settles endpoint, region and keys, from what is most particular to what is most general:
///
/// endpoint  --endpoint, else as aws::settled() says
/// region    --region, else that of the queue's ARN, else as aws::settled() says; us-east-1 for an endpoint that is
///           not Amazon's
/// profile   --profile; AWS_PROFILE; "default"
/// keys      as aws::credential_chain finds them; for an endpoint that is not Amazon's, and no profile named,
///           local_keys()
///
/// `queue`: the URL, name or ARN that the command was given; empty when it takes none.
result<sqs::client_options> client_options_from(endpoint_options, std::string_view queue, aws::environment const&);

} // namespace quern::app
