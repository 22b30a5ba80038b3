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

/// The webhook-signature header (Standard Webhooks 1.0): "v1,<base64>" for each key with a space between, so that
/// whoever verifies with one of them is content while keys are exchanged.
std::string webhook_signature(
    std::span<std::string const> keys, std::string_view id, wall_time at, std::string_view body);

} // namespace quern::relay
