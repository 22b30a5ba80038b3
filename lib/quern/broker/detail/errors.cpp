#include <quern/broker/detail/errors.hpp>

#include <quern/core/detail/text/utf8.hpp>

#include <algorithm>
#include <iterator>

namespace quern::broker::detail {

using namespace quern::detail;

namespace {

// Status and query code: service model of SQS (smithy.api#httpError, aws.protocols#awsQueryError). The front end's
// errors: recorded answers of SQS, and "Common error types" of the API reference.
constexpr error_shape shapes[] = {
    {error::batch_entry_ids_not_distinct, "BatchEntryIdsNotDistinct",
        "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", 400},
    {error::batch_request_too_long, "BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong", 400},
    {error::empty_batch_request, "EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest", 400},
    {error::invalid_address, "InvalidAddress", "InvalidAddress", 404},
    {error::invalid_attribute_name, "InvalidAttributeName", "InvalidAttributeName", 400},
    {error::invalid_attribute_value, "InvalidAttributeValue", "InvalidAttributeValue", 400},
    {error::invalid_batch_entry_id, "InvalidBatchEntryId", "AWS.SimpleQueueService.InvalidBatchEntryId", 400},
    {error::invalid_id_format, "InvalidIdFormat", "InvalidIdFormat", 400},
    {error::invalid_message_contents, "InvalidMessageContents", "InvalidMessageContents", 400},
    {error::invalid_security, "InvalidSecurity", "InvalidSecurity", 403},
    {error::kms_access_denied, "KmsAccessDenied", "KMS.AccessDeniedException", 400},
    {error::kms_disabled, "KmsDisabled", "KMS.DisabledException", 400},
    {error::kms_invalid_key_usage, "KmsInvalidKeyUsage", "KMS.InvalidKeyUsageException", 400},
    {error::kms_invalid_state, "KmsInvalidState", "KMS.InvalidStateException", 400},
    {error::kms_not_found, "KmsNotFound", "KMS.NotFoundException", 400},
    {error::kms_opt_in_required, "KmsOptInRequired", "KMS.OptInRequired", 403},
    {error::kms_throttled, "KmsThrottled", "KMS.ThrottlingException", 400},
    {error::message_not_inflight, "MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight", 400},
    {error::over_limit, "OverLimit", "OverLimit", 403},
    {error::purge_queue_in_progress, "PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress", 403},
    {error::queue_deleted_recently, "QueueDeletedRecently", "AWS.SimpleQueueService.QueueDeletedRecently", 400},
    {error::queue_does_not_exist, "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", 400},
    {error::queue_name_exists, "QueueNameExists", "QueueAlreadyExists", 400},
    {error::receipt_handle_is_invalid, "ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404},
    {error::request_throttled, "RequestThrottled", "RequestThrottled", 403},
    {error::resource_not_found, "ResourceNotFoundException", "ResourceNotFoundException", 404},
    {error::too_many_entries_in_batch_request, "TooManyEntriesInBatchRequest",
        "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", 400},
    {error::unsupported_operation, "UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation", 400},

    {error::access_denied, "AccessDeniedException", "AccessDenied", 403},
    {error::expired_token, "ExpiredTokenException", "ExpiredToken", 403},
    {error::incomplete_signature, "IncompleteSignatureException", "IncompleteSignature", 400},
    {error::internal_failure, "InternalFailure", "InternalFailure", 500},
    {error::invalid_action, "UnknownOperationException", "InvalidAction", 400},
    {error::invalid_parameter_value, "InvalidParameterValueException", "InvalidParameterValue", 400},
    {error::invalid_signature, "InvalidSignatureException", "SignatureDoesNotMatch", 403},
    {error::missing_authentication_token, "MissingAuthenticationTokenException", "MissingAuthenticationToken", 403},
    {error::missing_parameter, "MissingRequiredParameterException", "MissingParameter", 400},
    {error::serialization, "SerializationException", "MalformedInput", 400},
    {error::service_unavailable, "ServiceUnavailableException", "ServiceUnavailable", 503},
    {error::unrecognized_client, "UnrecognizedClientException", "InvalidClientTokenId", 403},
};

constexpr bool in_order()
{
    for (std::size_t i = 0; i != std::size(shapes); ++i) {
        if (static_cast<std::size_t>(shapes[i].which) != i) return false;
    }
    return true;
}
static_assert(in_order());
static_assert(std::size(shapes) == static_cast<std::size_t>(error::unrecognized_client) + 1);

/// The beginning of a text, and dots where something is left out.
std::string shortened(std::string_view text, std::size_t most)
{
    auto out = std::string(text::beginning(text, most));
    if (out.size() != text.size()) out += "...";
    return out;
}

} // namespace

error_shape const& shape_of(error which) noexcept
{
    return shapes[static_cast<std::size_t>(which)];
}

error_shape const* find_error(std::string_view query_code) noexcept
{
    auto const at = std::ranges::find(shapes, query_code, &error_shape::query_code);
    return at == std::end(shapes) ? nullptr : &*at;
}

std::string brief(std::string_view text)
{
    auto out = shortened(text, 80);
    for (char& c : out) {
        if (c < ' ' || c > '~') c = '?';
    }
    return out;
}

failure fail(error which, std::string message)
{
    constexpr std::size_t most_of_message = 4096;
    message = text::valid_utf8(shortened(message, most_of_message));
    auto const& shape = shape_of(which);
    bool const slow_down = which == error::request_throttled || which == error::kms_throttled;
    failure out(
        slow_down ? errc::throttled : errc::service_error, std::move(message), slow_down || shape.http_status >= 500);
    out.service_code = shape.query_code;
    out.http_status = shape.http_status;
    out.sender_fault = shape.sender_fault();
    return out;
}

failure missing_parameter(std::string_view name)
{
    return fail(error::missing_parameter, "The request must contain the parameter " + std::string(name) + ".");
}

failure invalid_parameter(std::string_view parameter, std::string_view value, std::string_view why)
{
    return fail(error::invalid_parameter_value,
        "Value " + std::string(value) + " for parameter " + std::string(parameter) +
            " is invalid. Reason: " + std::string(why));
}

} // namespace quern::broker::detail
