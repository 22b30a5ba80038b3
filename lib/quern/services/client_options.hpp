#pragma once

#include <quern/aws/config/region.hpp>
#include <quern/aws/credentials/credentials.hpp>
#include <quern/aws/retry.hpp>
#include <quern/core/error.hpp>
#include <quern/net/client.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace quern::services {

/// Settings of a client. What they leave open comes from the environment (AWS_ENDPOINT_URL_<service>, AWS_REGION, …)
/// and the profile, as for sqs::client.
struct client_options {
    aws::endpoint_choice where;
    std::string profile;
    std::shared_ptr<aws::credentials_provider> credentials; ///< null: found by aws::credential_chain, and renewed
    net::client_options connections;
    aws::retry_options retries;
    std::chrono::milliseconds request_timeout{5'000}; ///< of each attempt

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

} // namespace quern::services
