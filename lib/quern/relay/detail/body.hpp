#pragma once

#include <quern/relay/letter.hpp>

#include <span>
#include <string>
#include <string_view>

namespace quern::relay::detail {

// Bodies of requests.

std::string sns_body(letter const&);
std::string cloudevent_body(letter const&, std::string_view content_type);
std::string lambda_body(std::span<letter const>); ///< a record each

/// The body is a notification of SNS already.
bool is_sns_notification(std::string_view body);

/// The body's type is JSON: "application/json", "application/problem+json; charset=utf-8".
bool is_json_type(std::string_view content_type);

/// "2026-01-02T03:04:05Z" of the time when it was sent; empty when that is not known.
std::string sent_time(letter const&);

} // namespace quern::relay::detail
