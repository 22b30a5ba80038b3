#pragma once

#include "relay/relay_settings.hpp"

#include <quern/core/error.hpp>

#include <string>
#include <string_view>

namespace quern::app {

/// Takes the settings of a TOML document up:
///
///     [relay]          queue = "orders"   url = "https://app/hook?tenant={{attr.tenant}}"   timeout = "30s"
///     [relay.headers]  X-Tenant = "{{attr.tenant}}"
///     [relay.tls]      ca = "ca.pem"   cert = "c.pem"   key = "k.pem"   min = "1.2"
///     [relay.sign]     scheme = "standard-webhooks"   secret_files = ["new", "old"]   ed25519_files = ["key.pem"]
///     [relay.oauth2]   token_url = "https://id.example.com/token"   client_id = "relay"   secret_file = "secret"
///     [[relay.rule]]   status = "409,422"   do = "reject"   reason = "invalid"     # the first match wins
///     [relay.breaker]  share = 0.1
///
/// `file` is its name in complaints.
///
/// Fails with  errc::invalid_option  a sentence that names file, line, column and key, and what would do instead
result<void> read_relay_settings(std::string_view document, std::string_view file, relay_settings& into);

/// The same from a file.
result<void> load_relay_settings(std::string const& path, relay_settings& into);

} // namespace quern::app
