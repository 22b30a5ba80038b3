#pragma once

#include <quern/core/error.hpp>

#include <string>
#include <string_view>

namespace quern::broker::detail {

/// Every error that the broker answers with: the 28 of the service model, then those of the front end that stands
/// before it (the service model does not name these).
enum class error {
    batch_entry_ids_not_distinct,
    batch_request_too_long,
    empty_batch_request,
    invalid_address,
    invalid_attribute_name,
    invalid_attribute_value,
    invalid_batch_entry_id,
    invalid_id_format,
    invalid_message_contents,
    invalid_security,
    kms_access_denied,
    kms_disabled,
    kms_invalid_key_usage,
    kms_invalid_state,
    kms_not_found,
    kms_opt_in_required,
    kms_throttled,
    message_not_inflight,
    over_limit,
    purge_queue_in_progress,
    queue_deleted_recently,
    queue_does_not_exist,
    queue_name_exists,
    receipt_handle_is_invalid,
    request_throttled,
    resource_not_found,
    too_many_entries_in_batch_request,
    unsupported_operation,

    access_denied,
    expired_token,
    incomplete_signature,
    internal_failure,
    invalid_action,
    invalid_parameter_value,
    invalid_signature,
    missing_authentication_token,
    missing_parameter,
    serialization,
    service_unavailable,
    unrecognized_client,
};

/// How an error looks on the wire. JSON: the body's `__type` is json_type(), the header x-amzn-query-error is
/// "<query_code>;Sender" (";Receiver" without sender_fault()). XML: <Code> is query_code.
struct error_shape {
    error which;
    std::string_view name;       ///< "QueueDoesNotExist"
    std::string_view query_code; ///< "AWS.SimpleQueueService.NonExistentQueue": failure::service_code
    int http_status;

    bool sender_fault() const { return http_status < 500; }
    /// "com.amazonaws.sqs#QueueDoesNotExist"; those of the front end have another namespace.
    std::string json_type() const
    {
        return (which < error::access_denied ? "com.amazonaws.sqs#" : "com.amazon.coral.service#") +
            std::string(name);
    }
};

error_shape const& shape_of(error) noexcept;

/// The shape of a failure that an engine made, by failure::service_code; nullptr when it is none of ours.
error_shape const* find_error(std::string_view query_code) noexcept;

/// A name that a caller sent, fit to be repeated where it ends in terminals and logs: 80 bytes and dots for the rest,
/// and a question mark for each byte that is not printable ASCII.
std::string brief(std::string_view);

/// The failure as a client would report it: errc::service_error, or errc::throttled where slowing down helps. The
/// message becomes UTF-8 of 4 KiB at most, whatever it repeats of a request.
failure fail(error, std::string message);

/// "Value <value> for parameter <parameter> is invalid. Reason: <why>".
failure invalid_parameter(std::string_view parameter, std::string_view value, std::string_view why);

/// "The request must contain the parameter <name>."
failure missing_parameter(std::string_view name);

} // namespace quern::broker::detail
