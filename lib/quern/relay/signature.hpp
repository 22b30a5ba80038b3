#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <span>
#include <string>
#include <string_view>

namespace quern::relay {

/// The key of a Standard Webhooks secret: "whsec_" and base64 of 24 to 64 bytes, white space around it left out.
///
/// Fails with  errc::invalid_option  without a byte of it in the message
[[nodiscard]] result<std::string> signing_key(std::string_view secret);

/// The private key of Ed25519 in a text, 32 bytes: PEM ("BEGIN PRIVATE KEY", without a pass phrase), as `openssl
/// genpkey -algorithm ed25519` writes it, or "whsk_" and base64 of the key, with the public one behind it or without.
///
/// Fails with  errc::invalid_option  without a byte of it in the message
[[nodiscard]] result<std::string> ed25519_key(std::string_view text);

/// Part of the webhook-signature header for such keys: "v1a,<base64>" for each, with a space between.
std::string ed25519_signature(
    std::span<std::string const> keys, std::string_view id, wall_time at, std::string_view body);

/// The webhook-signature header (Standard Webhooks 1.0): "v1,<base64>" for each key with a space between, so that
/// whoever verifies with one of them is content while keys are exchanged.
std::string webhook_signature(
    std::span<std::string const> keys, std::string_view id, wall_time at, std::string_view body);

/// The header of simple-sqsd: HMAC-SHA256 of "POST http://host/path", a line feed and the body, in hexadecimal.
std::string plain_hmac(std::string_view secret, std::string_view method, std::string_view url, std::string_view body);

} // namespace quern::relay
