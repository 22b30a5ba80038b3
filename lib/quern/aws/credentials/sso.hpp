#pragma once

#include <quern/aws/config/endpoint_rules.hpp>
#include <quern/aws/config/surroundings.hpp>
#include <quern/aws/credentials/credentials.hpp>

#include <string>

namespace quern::aws {

/// Entries of a profile about signing in by IAM Identity Center.
struct sso_profile {
    std::string session{}; ///< name of the sso-session; empty in profiles of the older kind
    std::string start_url{};
    std::string region{};
    std::string account_id{}; ///< empty, with role_name, when the profile is for a token alone
    std::string role_name{};

    bool operator==(sso_profile const&) const = default;
};

/// Token that `aws sso login` leaves behind.
struct sso_token {
    std::string access_token{};
    wall_time expires_at{};
    std::string refresh_token{}; ///< empty when it cannot be renewed
    std::string client_id{}, client_secret{};
    std::string registration_expires_at{}; ///< as written
    std::string start_url{}, region{};

    enum class state { good, renewable, expired };

    /// `renewable` from 15 minutes before its end on (botocore); `good` when it has to do as it is.
    state at(wall_time) const;
};

/// "~/.aws/sso/cache/<SHA-1 of the session's name, or else of the start URL>.json"
std::string sso_cache_file(environment const&, sso_profile const&);

/// Nothing when the text is not such a token.
std::optional<sso_token> parse_sso_token(std::string_view json);
std::string to_json(sso_token const&);

/// The credentials of the profile's role, for the token that `aws sso login` has left. A token with a session is
/// renewed when it is about to end, and the new one is left in its place.
///
/// Fails with    errc::no_credentials  nobody has signed in, or too long ago; says how to
///               errc::service_error, throttled, and as net::client::exchange
/// Cancellation  terminal.
boost::asio::awaitable<result<credentials>> sso_credentials(
    surroundings const&, regional_endpoint portal, regional_endpoint oidc, sso_profile);

} // namespace quern::aws
