#pragma once

#include <quern/core/error.hpp>
#include <quern/net/message.hpp>

#include <string_view>

namespace quern::aws::detail {

/// How an error is retried, if at all (AWS SDKs, "standard" mode).
enum class error_kind {
    final,      ///< the same request fails again
    transient,  ///< the service or the way to it is unwell
    throttling, ///< the service asks for fewer requests
};

/// By the error's code, then by the HTTP status (500, 502, 503, 504 are transient).
error_kind classify(int http_status, std::string_view service_code);

/// The credentials were good once: newer ones may be accepted.
bool says_expired_credentials(std::string_view service_code);

/// Reads an answer other than 2xx, in awsJson with or without the query-compatible header. The code is that of
/// x-amzn-query-error where there is one ("AWS.SimpleQueueService.NonExistentQueue"), else the shape's name.
/// Anything may come in: an answer that is not JSON gives its status and a short piece of its text; all of it is
/// printable().
///
/// The code is errc::throttled or errc::service_error.
failure decode_error(int http_status, net::headers const&, std::string_view body);
inline failure decode_error(net::response const& r)
{
    return decode_error(r.status, r.fields, r.body);
}

} // namespace quern::aws::detail
