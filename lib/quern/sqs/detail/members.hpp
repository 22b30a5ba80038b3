#pragma once

/// Members of every request and answer, by the names that JSON has for them. The client and the broker read and write
/// what is told here, in this order.

#include <quern/sqs/message.hpp>
#include <quern/sqs/types.hpp>

#include <concepts>
#include <string_view>
#include <type_traits>

namespace quern::sqs::detail {

template <class T>
struct member {
    std::string_view name;
    T& value;
    bool required; ///< else it may be absent
    bool written;  ///< else it is left out when it is empty

    bool is_left_out() const
    {
        if constexpr (requires { value.has_value(); })
            return !value.has_value();
        else if constexpr (requires { value.empty(); })
            return !written && value.empty();
        else
            return false;
    }
};

template <class T>
member<T> need(std::string_view name, T& value)
{
    return {name, value, true, true};
}

/// The service always sends it, and Quern can do without.
template <class T>
member<T> sent(std::string_view name, T& value)
{
    return {name, value, false, true};
}

template <class T>
member<T> may(std::string_view name, T& value)
{
    return {name, value, false, false};
}

template <class T, class... Of>
concept one_of = (std::same_as<std::remove_const_t<T>, Of> || ...);

template <class T>
concept request = requires
{
    T::operation;
};

template <class Message, class Use, class First>
auto members_of_sent(Message& m, Use use, First first)
{
    return use(first, need("MessageBody", m.body), may("DelaySeconds", m.delay),
        may("MessageAttributes", m.attributes), may("MessageSystemAttributes", m.system_attributes),
        may("MessageDeduplicationId", m.deduplication_id), may("MessageGroupId", m.group_id));
}

/// Calls use(member...) with all members, like its overloads below.
template <class R, class Use>
    requires(request<R>&& requires(R& r) { r.queue_url; })
auto members(R& r, Use use)
{
    auto const with = [&](auto... more) { return use(need("QueueUrl", r.queue_url), more...); };
    if constexpr (one_of<R, send_message_request>) {
        return members_of_sent(r, use, need("QueueUrl", r.queue_url));
    } else if constexpr (requires { r.entries; }) {
        return with(need("Entries", r.entries));
    } else if constexpr (one_of<R, receive_message_request>) {
        return with(may("MaxNumberOfMessages", r.max_messages), may("VisibilityTimeout", r.visibility_timeout),
            may("WaitTimeSeconds", r.wait_time), may("MessageSystemAttributeNames", r.system_attribute_names),
            may("MessageAttributeNames", r.attribute_names), may("ReceiveRequestAttemptId", r.attempt_id));
    } else if constexpr (one_of<R, delete_message_request>) {
        return with(need("ReceiptHandle", r.receipt_handle));
    } else if constexpr (one_of<R, change_message_visibility_request>) {
        return with(need("ReceiptHandle", r.receipt_handle), need("VisibilityTimeout", r.visibility_timeout));
    } else if constexpr (one_of<R, list_dead_letter_source_queues_request>) {
        return with(may("NextToken", r.next_token), may("MaxResults", r.max_results));
    } else if constexpr (one_of<R, get_queue_attributes_request>) {
        return with(may("AttributeNames", r.attribute_names));
    } else if constexpr (one_of<R, set_queue_attributes_request>) {
        return with(need("Attributes", r.attributes));
    } else if constexpr (one_of<R, tag_queue_request>) {
        return with(need("Tags", r.tags));
    } else if constexpr (one_of<R, untag_queue_request>) {
        return with(need("TagKeys", r.tag_keys));
    } else if constexpr (one_of<R, add_permission_request>) {
        return with(need("Label", r.label), need("AWSAccountIds", r.account_ids), need("Actions", r.actions));
    } else if constexpr (one_of<R, remove_permission_request>) {
        return with(need("Label", r.label));
    } else {
        static_assert(one_of<R, delete_queue_request, purge_queue_request, list_queue_tags_request>);
        return with();
    }
}

template <request R, class Use>
auto members(R& r, Use use)
{
    if constexpr (one_of<R, create_queue_request>) { // "tags" here, "Tags" in TagQueue
        return use(need("QueueName", r.queue_name), may("Attributes", r.attributes), may("tags", r.tags));
    } else if constexpr (one_of<R, get_queue_url_request>) {
        return use(need("QueueName", r.queue_name), may("QueueOwnerAWSAccountId", r.owner_account_id));
    } else if constexpr (one_of<R, list_queues_request>) {
        return use(
            may("QueueNamePrefix", r.name_prefix), may("NextToken", r.next_token), may("MaxResults", r.max_results));
    } else if constexpr (one_of<R, start_message_move_task_request>) {
        return use(need("SourceArn", r.source_arn), may("DestinationArn", r.destination_arn),
            may("MaxNumberOfMessagesPerSecond", r.max_messages_per_second));
    } else if constexpr (one_of<R, list_message_move_tasks_request>) {
        return use(need("SourceArn", r.source_arn), may("MaxResults", r.max_results));
    } else {
        static_assert(one_of<R, cancel_message_move_task_request>);
        return use(need("TaskHandle", r.task_handle));
    }
}

/// Entries of batches.
template <one_of<send_message_entry, delete_message_entry, change_visibility_entry> Entry, class Use>
auto members(Entry& e, Use use)
{
    if constexpr (requires { e.body; }) {
        return members_of_sent(e, use, need("Id", e.id));
    } else if constexpr (requires { e.visibility_timeout; }) {
        return use(need("Id", e.id), need("ReceiptHandle", e.receipt_handle),
            may("VisibilityTimeout", e.visibility_timeout));
    } else {
        return use(need("Id", e.id), need("ReceiptHandle", e.receipt_handle));
    }
}

/// Answers, and what they are made of.
template <class Answer, class Use>
auto members(Answer& a, Use use)
{
    if constexpr (requires { a.successful; }) {
        return use(may("Successful", a.successful), may("Failed", a.failed));
    } else if constexpr (std::derived_from<Answer, send_message_response>) {
        auto const with = [&](auto... id) {
            return use(id..., need("MessageId", a.message_id), sent("MD5OfMessageBody", a.md5_of_body),
                may("MD5OfMessageAttributes", a.md5_of_attributes),
                may("MD5OfMessageSystemAttributes", a.md5_of_system_attributes),
                may("SequenceNumber", a.sequence_number));
        };
        if constexpr (one_of<Answer, sent_message>)
            return with(need("Id", a.id));
        else
            return with();
    } else if constexpr (one_of<Answer, done_entry>) {
        return use(need("Id", a.id));
    } else if constexpr (one_of<Answer, batch_failure>) {
        return use(
            need("Id", a.id), may("SenderFault", a.sender_fault), sent("Code", a.code), may("Message", a.message));
    } else if constexpr (one_of<Answer, receive_message_response>) {
        return use(may("Messages", a.messages));
    } else if constexpr (one_of<Answer, message>) {
        return use(need("MessageId", a.id), need("ReceiptHandle", a.receipt_handle), sent("MD5OfBody", a.md5_of_body),
            need("Body", a.body), may("Attributes", a.system_attributes),
            may("MD5OfMessageAttributes", a.md5_of_attributes), may("MessageAttributes", a.attributes));
    } else if constexpr (one_of<Answer, queue_url_response>) {
        return use(need("QueueUrl", a.queue_url));
    } else if constexpr (one_of<Answer, queue_urls_response>) { // in ListDeadLetterSourceQueues it is "queueUrls"
        return use(may("QueueUrls", a.queue_urls), may("NextToken", a.next_token));
    } else if constexpr (one_of<Answer, attributes_response>) {
        return use(may("Attributes", a.attributes));
    } else if constexpr (one_of<Answer, tags_response>) {
        return use(may("Tags", a.tags));
    } else if constexpr (one_of<Answer, task_handle_response>) {
        return use(need("TaskHandle", a.task_handle));
    } else if constexpr (one_of<Answer, moved_response>) {
        return use(may("ApproximateNumberOfMessagesMoved", a.messages_moved));
    } else if constexpr (one_of<Answer, list_message_move_tasks_response>) {
        return use(may("Results", a.tasks));
    } else if constexpr (one_of<Answer, message_move_task>) {
        return use(may("TaskHandle", a.task_handle), sent("Status", a.status), sent("SourceArn", a.source_arn),
            may("DestinationArn", a.destination_arn), may("MaxNumberOfMessagesPerSecond", a.max_messages_per_second),
            may("ApproximateNumberOfMessagesMoved", a.messages_moved),
            may("ApproximateNumberOfMessagesToMove", a.messages_to_move), may("FailureReason", a.failure_reason),
            may("StartedTimestamp", a.started_at_ms));
    } else {
        static_assert(one_of<Answer, empty_response>);
        return use();
    }
}

} // namespace quern::sqs::detail
