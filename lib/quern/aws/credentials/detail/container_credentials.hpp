#pragma once

#include <quern/aws/config/surroundings.hpp>
#include <quern/aws/credentials/credentials.hpp>

#include <optional>
#include <string>

namespace quern::aws::detail {

/// Where a container of ECS or EKS (Pod Identity), or a proxy on this machine, hands out credentials:
/// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI below http://169.254.170.2, else AWS_CONTAINER_CREDENTIALS_FULL_URI.
/// Nothing when neither is set.
///
/// Fails with  errc::no_credentials  the URI is none, or would send the token in the clear to a host other than this
///                                   machine and the addresses of ECS and EKS
[[nodiscard]] result<std::optional<std::string>> container_url(environment const&);

/// Asks there, with the token in the file AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, read each time, or that in
/// AWS_CONTAINER_AUTHORIZATION_TOKEN. Three attempts of 2 s each (botocore).
///
/// Fails with    errc::no_credentials  the token cannot be read or holds a line break; the answer holds no
///                                     credentials
///               errc::service_error, throttled, and as net::client::exchange
/// Cancellation  terminal.
boost::asio::awaitable<result<credentials>> container_credentials(surroundings const&, std::string url);

} // namespace quern::aws::detail
