#include <quern/sqs/detail/failures.hpp>

#include <quern/aws/detail/error_reply.hpp>

namespace quern::sqs::detail {
namespace {

bool names_a_dead_receipt(std::string_view code, std::string_view message)
{
    if (code == "ReceiptHandleIsInvalid") return true;
    if (code == "MessageNotInflight" || code == "AWS.SimpleQueueService.MessageNotInflight") return true;
    // A FIFO queue's handle after its visibility timeout, and the handle of a deleted message, have no code of their
    // own (recorded answers of the service, LocalStack snapshots test_fifo_delete_after_visibility_timeout and
    // test_change_visibility_on_deleted_message_raises_invalid_parameter_value).
    if (!code.starts_with("InvalidParameterValue")) return false;
    return message.find("receipt handle has expired") != message.npos ||
        message.find("not available for visibility timeout change") != message.npos;
}

/// Too many messages in flight, or too many keys asked of KMS: it passes, though the SDKs do not count on it and have
/// no such codes in their tables of what to retry (aws::detail::classify()).
bool asks_for_less(std::string_view code)
{
    return code == "OverLimit" || code == "KMS.ThrottlingException" || code == "KmsThrottled" ||
        aws::detail::classify(0, code) == aws::detail::error_kind::throttling;
}

} // namespace

failure refine(failure why)
{
    if (asks_for_less(why.service_code)) {
        why.code = make_error_code(errc::throttled);
        why.retryable = true;
    }
    if (names_a_dead_receipt(why.service_code, why.message)) {
        why.code = make_error_code(errc::receipt_expired);
        why.retryable = false;
    }
    return why;
}

failure entry_failure(batch_failure entry)
{
    errc what = errc::service_error;
    if (entry.code == checksum_mismatch_code) what = errc::checksum_mismatch;
    failure why(what, std::move(entry.message));
    why.service_code = std::move(entry.code);
    why.sender_fault = entry.sender_fault;
    // A message whose digest does not match is in the queue already: sending it again would make two.
    why.retryable = !entry.sender_fault && what != errc::checksum_mismatch;
    return refine(std::move(why));
}

} // namespace quern::sqs::detail
