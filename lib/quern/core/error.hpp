#pragma once

#include <quern/core/asio_layout.hpp>

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

#include <string>

namespace quern {

/// The kinds of failure, as far as a caller may act on it. Zero is success, as with all error codes. Codes equal
/// the standard's condition where there is one: errc::timed_out == std::errc::timed_out, and errc::stopped, like
/// asio::error::operation_aborted, == std::errc::operation_canceled.
enum class errc {
    timed_out = 1,     ///< no complete answer before the deadline
    connect_failed,    ///< no address, or no connection in time, or none at all; nothing was sent
    tls_failed,        ///< the TLS handshake or the check of the host's certificate failed; nothing was sent
    connection_lost,   ///< the connection broke after the request was (at least partly) written
    bad_reply,         ///< the answer breaks HTTP, JSON or the service's model
    reply_too_large,   ///< the answer exceeds the configured limit
    invalid_request,   ///< refused before sending: a field breaks a limit of the service
    invalid_option,    ///< refused before starting: a setting or a combination of settings
    no_credentials,    ///< no access key was found, or only half of one
    service_error,     ///< the service answered with an error; see failure::service_code
    throttled,         ///< the service answered that the caller is too fast
    checksum_mismatch, ///< an MD5 digest of the service does not match what was sent or received
    receipt_expired,   ///< the receipt handle no longer stands for a receive of this message
    not_confirmed,     ///< a batch answer names this entry neither as done nor as failed
    stopped,           ///< cancelled, or the object was told to stop
};

boost::system::error_category const& category() noexcept;
boost::system::error_code make_error_code(errc) noexcept;

/// Why an operation failed. Safe to log: it never carries a message body or a credential.
struct failure {
    boost::system::error_code code;
    std::string service_code;  ///< the service's own code ("RequestThrottled"); empty when it never answered
    std::string message;       ///< a sentence for a human
    std::string request_id;    ///< x-amzn-RequestId; empty when the service never answered
    int http_status = 0;       ///< 0 when there was no HTTP answer
    bool retryable = false;    ///< the same request may succeed later
    bool sender_fault = false; ///< the service blames the request, not itself

    failure() = default;
    failure(errc what, std::string why, bool may_retry = false)
        : code(make_error_code(what)), message(std::move(why)), retryable(may_retry)
    {}
};

/// "throttled: RequestThrottled, Rate exceeded (HTTP 403, request 1f2e…)"; see printable().
std::string describe(failure const&);

/// A value or a failure; `.value()` throws `boost::system::system_error` with describe()'s text. (A class of its own,
/// so that the compiler warns of one that is dropped.)
template <class T>
class [[nodiscard]] result : public boost::system::result<T, failure> {
public:
    using boost::system::result<T, failure>::result;
};

[[noreturn]] void throw_exception_from_error(failure const&, boost::source_location const&);

} // namespace quern

template <>
struct boost::system::is_error_code_enum<quern::errc> : std::true_type {};
