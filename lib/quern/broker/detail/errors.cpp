#include <quern/broker/detail/errors.hpp>

#include <quern/core/detail/text/utf8.hpp>

#include <algorithm>
#include <iterator>

namespace quern::broker {
namespace {

// Status and query code: service model of SQS (smithy.api#httpError, aws.protocols#awsQueryError). The front end's
// errors: recorded answers of SQS, and "Common error types" of the API reference.
constexpr error_shape shapes[] = {
    {error::batch_entry_ids_not_distinct, "com.amazonaws.sqs#BatchEntryIdsNotDistinct",
        "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", 400, true},
    {error::batch_request_too_long, "com.amazonaws.sqs#BatchRequestTooLong",
        "AWS.SimpleQueueService.BatchRequestTooLong", 400, true},
    {error::empty_batch_request, "com.amazonaws.sqs#EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest",
        400, true},
    {error::invalid_address, "com.amazonaws.sqs#InvalidAddress", "InvalidAddress", 404, true},
    {error::invalid_attribute_name, "com.amazonaws.sqs#InvalidAttributeName", "InvalidAttributeName", 400, true},
    {error::invalid_attribute_value, "com.amazonaws.sqs#InvalidAttributeValue", "InvalidAttributeValue", 400, true},
    {error::invalid_batch_entry_id, "com.amazonaws.sqs#InvalidBatchEntryId",
        "AWS.SimpleQueueService.InvalidBatchEntryId", 400, true},
    {error::invalid_id_format, "com.amazonaws.sqs#InvalidIdFormat", "InvalidIdFormat", 400, true},
    {error::invalid_message_contents, "com.amazonaws.sqs#InvalidMessageContents", "InvalidMessageContents", 400,
        true},
    {error::invalid_security, "com.amazonaws.sqs#InvalidSecurity", "InvalidSecurity", 403, true},
    {error::kms_access_denied, "com.amazonaws.sqs#KmsAccessDenied", "KMS.AccessDeniedException", 400, true},
    {error::kms_disabled, "com.amazonaws.sqs#KmsDisabled", "KMS.DisabledException", 400, true},
    {error::kms_invalid_key_usage, "com.amazonaws.sqs#KmsInvalidKeyUsage", "KMS.InvalidKeyUsageException", 400, true},
    {error::kms_invalid_state, "com.amazonaws.sqs#KmsInvalidState", "KMS.InvalidStateException", 400, true},
    {error::kms_not_found, "com.amazonaws.sqs#KmsNotFound", "KMS.NotFoundException", 400, true},
    {error::kms_opt_in_required, "com.amazonaws.sqs#KmsOptInRequired", "KMS.OptInRequired", 403, true},
    {error::kms_throttled, "com.amazonaws.sqs#KmsThrottled", "KMS.ThrottlingException", 400, true},
    {error::message_not_inflight, "com.amazonaws.sqs#MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight",
        400, true},
    {error::over_limit, "com.amazonaws.sqs#OverLimit", "OverLimit", 403, true},
    {error::purge_queue_in_progress, "com.amazonaws.sqs#PurgeQueueInProgress",
        "AWS.SimpleQueueService.PurgeQueueInProgress", 403, true},
    {error::queue_deleted_recently, "com.amazonaws.sqs#QueueDeletedRecently",
        "AWS.SimpleQueueService.QueueDeletedRecently", 400, true},
    {error::queue_does_not_exist, "com.amazonaws.sqs#QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue",
        400, true},
    {error::queue_name_exists, "com.amazonaws.sqs#QueueNameExists", "QueueAlreadyExists", 400, true},
    {error::receipt_handle_is_invalid, "com.amazonaws.sqs#ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404,
        true},
    {error::request_throttled, "com.amazonaws.sqs#RequestThrottled", "RequestThrottled", 403, true},
    {error::resource_not_found, "com.amazonaws.sqs#ResourceNotFoundException", "ResourceNotFoundException", 404,
        true},
    {error::too_many_entries_in_batch_request, "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
        "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", 400, true},
    {error::unsupported_operation, "com.amazonaws.sqs#UnsupportedOperation",
        "AWS.SimpleQueueService.UnsupportedOperation", 400, true},

    {error::access_denied, "com.amazon.coral.service#AccessDeniedException", "AccessDenied", 403, true},
    {error::expired_token, "com.amazon.coral.service#ExpiredTokenException", "ExpiredToken", 403, true},
    {error::incomplete_signature, "com.amazon.coral.service#IncompleteSignatureException", "IncompleteSignature", 400,
        true},
    {error::internal_failure, "com.amazon.coral.service#InternalFailure", "InternalFailure", 500, false},
    {error::invalid_action, "com.amazon.coral.service#UnknownOperationException", "InvalidAction", 400, true},
    {error::invalid_parameter_value, "com.amazon.coral.service#InvalidParameterValueException",
        "InvalidParameterValue", 400, true},
    {error::invalid_signature, "com.amazon.coral.service#InvalidSignatureException", "SignatureDoesNotMatch", 403,
        true},
    {error::missing_authentication_token, "com.amazon.coral.service#MissingAuthenticationTokenException",
        "MissingAuthenticationToken", 403, true},
    {error::missing_parameter, "com.amazon.coral.service#MissingRequiredParameterException", "MissingParameter", 400,
        true},
    {error::serialization, "com.amazon.coral.service#SerializationException", "MalformedInput", 400, true},
    {error::service_unavailable, "com.amazon.coral.service#ServiceUnavailableException", "ServiceUnavailable", 503,
        false},
    {error::unrecognized_client, "com.amazon.coral.service#UnrecognizedClientException", "InvalidClientTokenId", 403,
        true},
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
    out.sender_fault = shape.sender_fault;
    return out;
}

failure refuse(std::string_view parameter, std::string_view value, std::string_view why)
{
    return fail(error::invalid_parameter_value,
        "Value " + std::string(value) + " for parameter " + std::string(parameter) +
            " is invalid. Reason: " + std::string(why));
}

} // namespace quern::broker
