#pragma once

/// Requests and answers of the 23 operations of SQS, API version 2012-11-05, as the service model names them.
///
/// Every request has a constructor for what is required; the rest are members with the service's default.
/// (Requests are not aggregates on purpose: g++ 12.2 destroys an aggregate temporary in a `co_await`
/// expression twice, GCC PR107288.) An absent optional is left out of the call, so the service's or the
/// queue's own default applies.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::sqs {

using std::chrono::seconds;

/// Queue attributes and tags: every value is a string on the wire, also the numbers.
using string_map = std::map<std::string, std::string>;

/// A user attribute of a message, as sent.
struct attribute_value {
    std::string data_type; ///< "String", "Number" or "Binary", optionally with ".label"
    std::string value;     ///< UTF-8 text; for Binary the raw bytes (base64 is the codec's business)

    bool is_binary() const { return data_type.starts_with("Binary"); }
    bool operator==(attribute_value const&) const = default;
};
using attribute_map = std::map<std::string, attribute_value>;

/// One entry that a batch call refused. The others of the same call may have succeeded.
struct batch_failure {
    std::string id;
    std::string code; ///< "InvalidParameterValue", "InternalError", …
    std::string message;
    bool sender_fault = false; ///< true: retrying the same entry cannot help
};

/// Answer of a batch call: per entry, by the id that the caller gave.
template <class Done>
struct batch_response {
    std::vector<Done> successful;
    std::vector<batch_failure> failed;
};

/// Answer of an operation that has none.
struct empty_response {};

struct receive_message_response; // see message.hpp

template <std::size_t Size>
struct operation_name {
    constexpr operation_name(char const (&literal)[Size]) { std::copy_n(literal, Size, text); }
    char text[Size];
};

/// Base of every request: the name of its operation, and what answers it.
template <operation_name Name, class Response>
struct asks_for {
    using response = Response;
    static constexpr std::string_view operation{Name.text, sizeof Name.text - 1};
};

// ---- messages -------------------------------------------------------------------------------------------

struct send_message_response {
    std::string message_id;
    std::string md5_of_body;
    std::string md5_of_attributes;        ///< empty when none were sent
    std::string md5_of_system_attributes; ///< empty when none were sent
    std::string sequence_number;          ///< FIFO queues: decimal, 128 bit
};

struct send_message_request : asks_for<"SendMessage", send_message_response> {
    std::string queue_url;
    std::string body;                            ///< 1 byte to 1 MiB together with the attributes
    std::optional<seconds> delay;                ///< 0 to 900 s; the queue's DelaySeconds when absent
    attribute_map attributes;                    ///< at most 10
    attribute_map system_attributes;             ///< AWSTraceHeader only
    std::optional<std::string> deduplication_id; ///< FIFO queues
    std::optional<std::string> group_id;         ///< required on FIFO queues; the tenant on standard queues

    send_message_request() = default;
    send_message_request(std::string url, std::string text) : queue_url(std::move(url)), body(std::move(text)) {}
};

struct send_message_entry {
    std::string id; ///< 1 to 80 of [A-Za-z0-9_-], distinct within the call
    std::string body;
    std::optional<seconds> delay;
    attribute_map attributes;
    attribute_map system_attributes;
    std::optional<std::string> deduplication_id;
    std::optional<std::string> group_id;

    send_message_entry() = default;
    explicit send_message_entry(std::string text) : body(std::move(text)) {}
    send_message_entry(std::string entry_id, std::string text) : id(std::move(entry_id)), body(std::move(text)) {}
};

struct sent_message : send_message_response {
    std::string id; ///< of the entry
};

struct send_message_batch_request : asks_for<"SendMessageBatch", batch_response<sent_message>> {
    std::string queue_url;
    std::vector<send_message_entry> entries; ///< 1 to 10, together at most 1 MiB

    send_message_batch_request() = default;
    send_message_batch_request(std::string url, std::vector<send_message_entry> list)
        : queue_url(std::move(url)), entries(std::move(list))
    {}
};

using send_message_batch_response = batch_response<sent_message>;

struct receive_message_request : asks_for<"ReceiveMessage", receive_message_response> {
    std::string queue_url;
    int max_messages = 10;                           ///< 1 to 10
    std::optional<seconds> visibility_timeout;       ///< 0 to 43,200 s; the queue's when absent
    std::optional<seconds> wait_time;                ///< 0 to 20 s; the queue's when absent. Longer than 0: long poll
    std::vector<std::string> system_attribute_names; ///< "ApproximateReceiveCount", …, or "All"
    std::vector<std::string> attribute_names;        ///< names, "prefix.*", or "All"
    std::optional<std::string> attempt_id;           ///< FIFO queues: ReceiveRequestAttemptId

    receive_message_request() = default;
    explicit receive_message_request(std::string url) : queue_url(std::move(url)) {}
};

struct delete_message_request : asks_for<"DeleteMessage", empty_response> {
    std::string queue_url;
    std::string receipt_handle;

    delete_message_request() = default;
    delete_message_request(std::string url, std::string handle)
        : queue_url(std::move(url)), receipt_handle(std::move(handle))
    {}
};

struct delete_message_entry {
    std::string id;
    std::string receipt_handle;

    delete_message_entry() = default;
    delete_message_entry(std::string entry_id, std::string handle)
        : id(std::move(entry_id)), receipt_handle(std::move(handle))
    {}
};

/// The id of an entry that a batch call carried out.
struct done_entry {
    std::string id;
};

struct delete_message_batch_request : asks_for<"DeleteMessageBatch", batch_response<done_entry>> {
    std::string queue_url;
    std::vector<delete_message_entry> entries; ///< 1 to 10

    delete_message_batch_request() = default;
    delete_message_batch_request(std::string url, std::vector<delete_message_entry> list)
        : queue_url(std::move(url)), entries(std::move(list))
    {}
};

using delete_message_batch_response = batch_response<done_entry>;

struct change_message_visibility_request : asks_for<"ChangeMessageVisibility", empty_response> {
    std::string queue_url;
    std::string receipt_handle;
    seconds visibility_timeout{}; ///< 0 to 43,200 s, counted from now; 0 makes the message visible at once

    change_message_visibility_request() = default;
    change_message_visibility_request(std::string url, std::string handle, seconds timeout)
        : queue_url(std::move(url)), receipt_handle(std::move(handle)), visibility_timeout(timeout)
    {}
};

struct change_visibility_entry {
    std::string id;
    std::string receipt_handle;
    seconds visibility_timeout{};

    change_visibility_entry() = default;
    change_visibility_entry(std::string entry_id, std::string handle, seconds timeout)
        : id(std::move(entry_id)), receipt_handle(std::move(handle)), visibility_timeout(timeout)
    {}
};

struct change_message_visibility_batch_request
    : asks_for<"ChangeMessageVisibilityBatch", batch_response<done_entry>> {
    std::string queue_url;
    std::vector<change_visibility_entry> entries; ///< 1 to 10

    change_message_visibility_batch_request() = default;
    change_message_visibility_batch_request(std::string url, std::vector<change_visibility_entry> list)
        : queue_url(std::move(url)), entries(std::move(list))
    {}
};
using change_message_visibility_batch_response = batch_response<done_entry>;

// ---- queues ---------------------------------------------------------------------------------------------

/// A request that names a queue and nothing else.
struct queue_request {
    std::string queue_url;

    queue_request() = default;
    explicit queue_request(std::string url) : queue_url(std::move(url)) {}
};
struct delete_queue_request : queue_request, asks_for<"DeleteQueue", empty_response> {
    using queue_request::queue_request;
};
struct purge_queue_request : queue_request, asks_for<"PurgeQueue", empty_response> {
    using queue_request::queue_request;
};
struct tags_response {
    string_map tags;
};

struct list_queue_tags_request : queue_request, asks_for<"ListQueueTags", tags_response> {
    using queue_request::queue_request;
};

struct queue_url_response {
    std::string queue_url;
};

struct create_queue_request : asks_for<"CreateQueue", queue_url_response> {
    std::string queue_name; ///< 1 to 80 of [A-Za-z0-9_-]; a FIFO queue's ends in ".fifo"
    string_map attributes;
    string_map tags;

    create_queue_request() = default;
    explicit create_queue_request(std::string name) : queue_name(std::move(name)) {}
};

struct get_queue_url_request : asks_for<"GetQueueUrl", queue_url_response> {
    std::string queue_name;
    std::optional<std::string> owner_account_id;

    get_queue_url_request() = default;
    explicit get_queue_url_request(std::string name) : queue_name(std::move(name)) {}
};

struct attributes_response {
    string_map attributes;
};

struct get_queue_attributes_request : queue_request, asks_for<"GetQueueAttributes", attributes_response> {
    std::vector<std::string> attribute_names{"All"};
    using queue_request::queue_request;
};

struct set_queue_attributes_request : asks_for<"SetQueueAttributes", empty_response> {
    std::string queue_url;
    string_map attributes;

    set_queue_attributes_request() = default;
    set_queue_attributes_request(std::string url, string_map values)
        : queue_url(std::move(url)), attributes(std::move(values))
    {}
};

struct queue_urls_response {
    std::vector<std::string> queue_urls;
    std::string next_token; ///< empty on the last page
};

struct list_queues_request : asks_for<"ListQueues", queue_urls_response> {
    std::optional<std::string> name_prefix;
    std::optional<std::string> next_token;
    std::optional<int> max_results; ///< 1 to 1,000; without it there is no paging

    list_queues_request() {} // not an aggregate, see above
};

struct list_dead_letter_source_queues_request : queue_request,
                                                asks_for<"ListDeadLetterSourceQueues", queue_urls_response> {
    std::optional<std::string> next_token;
    std::optional<int> max_results;
    using queue_request::queue_request;
};

struct tag_queue_request : asks_for<"TagQueue", empty_response> {
    std::string queue_url;
    string_map tags;

    tag_queue_request() = default;
    tag_queue_request(std::string url, string_map values) : queue_url(std::move(url)), tags(std::move(values)) {}
};

struct untag_queue_request : asks_for<"UntagQueue", empty_response> {
    std::string queue_url;
    std::vector<std::string> tag_keys;

    untag_queue_request() = default;
    untag_queue_request(std::string url, std::vector<std::string> keys)
        : queue_url(std::move(url)), tag_keys(std::move(keys))
    {}
};

struct add_permission_request : asks_for<"AddPermission", empty_response> {
    std::string queue_url;
    std::string label;
    std::vector<std::string> account_ids;
    std::vector<std::string> actions;

    add_permission_request() = default;
    add_permission_request(
        std::string url, std::string name, std::vector<std::string> accounts, std::vector<std::string> allowed)
        : queue_url(std::move(url)), label(std::move(name)), account_ids(std::move(accounts)),
          actions(std::move(allowed))
    {}
};

struct remove_permission_request : asks_for<"RemovePermission", empty_response> {
    std::string queue_url;
    std::string label;

    remove_permission_request() = default;
    remove_permission_request(std::string url, std::string name) : queue_url(std::move(url)), label(std::move(name))
    {}
};

// ---- message move tasks -----------------------------------------------------------------------------------

struct task_handle_response {
    std::string task_handle;
};

struct start_message_move_task_request : asks_for<"StartMessageMoveTask", task_handle_response> {
    std::string source_arn;
    std::optional<std::string> destination_arn; ///< back to the original source queues when absent
    std::optional<int> max_messages_per_second; ///< 1 to 500

    start_message_move_task_request() = default;
    explicit start_message_move_task_request(std::string source) : source_arn(std::move(source)) {}
};

struct moved_response {
    std::int64_t messages_moved = 0;
};

struct cancel_message_move_task_request : asks_for<"CancelMessageMoveTask", moved_response> {
    std::string task_handle;

    cancel_message_move_task_request() = default;
    explicit cancel_message_move_task_request(std::string handle) : task_handle(std::move(handle)) {}
};

struct message_move_task {
    std::string task_handle; ///< only while RUNNING
    std::string status;      ///< RUNNING, COMPLETED, CANCELLING, CANCELLED or FAILED
    std::string source_arn;
    std::string destination_arn; ///< empty when none was given
    std::optional<int> max_messages_per_second;
    std::int64_t messages_moved = 0;
    std::optional<std::int64_t> messages_to_move;
    std::string failure_reason;
    std::int64_t started_at_ms = 0; ///< milliseconds since 1970
};

struct list_message_move_tasks_response {
    std::vector<message_move_task> tasks;
};

struct list_message_move_tasks_request : asks_for<"ListMessageMoveTasks", list_message_move_tasks_response> {
    std::string source_arn;
    std::optional<int> max_results; ///< 1 to 10; 1 when absent

    list_message_move_tasks_request() = default;
    explicit list_message_move_tasks_request(std::string source) : source_arn(std::move(source)) {}
};

} // namespace quern::sqs
