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

namespace quern::aws {

/// Settings of a service's client. What they leave open comes from the environment (AWS_ENDPOINT_URL_<service>,
/// AWS_REGION, …) and the profile.
struct client_options {
    endpoint_choice where{};
    std::string profile{}; ///< of the shared config file; empty: AWS_PROFILE, then "default"
    std::shared_ptr<credentials_provider> credentials{}; ///< null: found by credential_chain, and renewed
    net::client_options connections{};                   ///< limits, idle time, CA bundle, proxy
    retry_options retries{};
    std::chrono::milliseconds request_timeout{5'000}; ///< of each attempt in all

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

} // namespace quern::aws
