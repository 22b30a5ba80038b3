#pragma once

#include <quern/aws/config/endpoint_rules.hpp>
#include <quern/aws/config/surroundings.hpp>
#include <quern/aws/credentials/credentials.hpp>

#include <string>

namespace quern::aws {

/// A role that is taken on.
struct role {
    std::string arn{};
    std::string session_name{};     ///< in logs of the account; empty: "quern-" and the time
    std::string external_id{};      ///< that the role's owner asks for
    std::string duration_seconds{}; ///< how long the credentials last; empty: the service's default, an hour

    bool operator==(role const&) const = default;
};

/// STS AssumeRole: the credentials of a role for those of somebody who may have it. Three attempts, and another where
/// the clock is wrong: it is corrected for this one call, and the credentials end by our clock.
///
/// Fails with    errc::service_error, throttled, no_credentials (an answer without any), and as net::client::exchange
/// Cancellation  terminal.
boost::asio::awaitable<result<credentials>> assume_role(
    surroundings const&, regional_endpoint sts, role, credentials by);

/// STS AssumeRoleWithWebIdentity: the credentials of a role for a token, as Kubernetes puts it into a file. The file
/// is read each time. Three attempts.
///
/// Fails with    as assume_role(), and errc::no_credentials when the file cannot be read
/// Cancellation  terminal.
boost::asio::awaitable<result<credentials>> assume_role_with_web_identity(
    surroundings const&, regional_endpoint sts, role, std::string token_file);

/// Reads an error of STS.
failure decode_sts_error(net::response const&);

/// The credentials in its answer to either of the two.
[[nodiscard]] result<credentials> credentials_in_sts_answer(std::string_view body);

} // namespace quern::aws
