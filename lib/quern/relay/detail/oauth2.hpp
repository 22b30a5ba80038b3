#pragma once

#include <quern/aws/credentials/cached_credentials.hpp>
#include <quern/core/clock.hpp>
#include <quern/net/web_hook.hpp>
#include <quern/relay/relay.hpp>

#include <memory>
#include <string_view>

namespace quern::relay::detail {

/// Request for a token.
net::web_hook_request token_request(oauth2_options const&, std::string_view secret);

/// The token in an answer to that, as session_token, and its end: `asked_at` and what the answer says, or none.
///
/// Fails with  errc::no_credentials  a refusal, or no token that a header could carry; shows nothing but the status
///                                   and the error's name. Retryable
[[nodiscard]] result<aws::credentials> token_in(net::response const&, wall_time asked_at);

/// Tokens of that server, for aws::cached_credentials(), whose rule renews them. Both outlive it.
std::unique_ptr<aws::credentials_source> tokens_of(net::web_hook_sender&, oauth2_options, clock&);

} // namespace quern::relay::detail
