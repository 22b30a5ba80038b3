#pragma once

#include <quern/net/endpoint.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace quern::aws {

/// A warning where requests would leave this machine unencrypted, signed with keys that Amazon would accept: whoever
/// listens reads the messages and the session token, and can send what is signed once more. Nothing for https, for
/// this machine, and for keys that no account of Amazon's has ("test", LocalStack's LKIA...).
///
/// `access_key_id`: empty when it is not known yet; then it may be a real one.
std::optional<std::string> clear_text_warning(net::endpoint const&, std::string_view access_key_id);

} // namespace quern::aws
