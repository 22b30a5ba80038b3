#pragma once

#include <quern/core/error.hpp>
#include <quern/sqs/lane_claim.hpp>
#include <quern/sqs/message.hpp>
#include <quern/sqs/types.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string_view>

namespace quern::sqs {

template <class T>
using answer = boost::asio::awaitable<result<T>>;

/// SQS, one coroutine an operation. `client` speaks HTTP, the simulator answers from the broker's engine,
/// and a test may mock it: with one function, see forwarding_api.
///
/// Errors        are values: see `failure`. Nothing is thrown but std::bad_alloc.
/// Cancellation  terminal: the operation ends with errc::stopped and may or may not have been carried out.
/// Lifetime      the object outlives the operation.
/// Threads       any for `client`; else one strand, the implementation says which.
class api {
public:
    virtual ~api() = default;

    /// The service's time minus ours, as far as is known; for points of the service's time, as that of a message's
    /// first receive. From any thread.
    virtual std::chrono::milliseconds clock_offset() const { return {}; }

    /// The region that requests are signed for: a queue of another one is not known there. Empty: not known. From any
    /// thread.
    virtual std::string_view region() const { return {}; }

    /// Claims places for as many requests at once. From any thread. An implementation without lanes has room for all.
    virtual lane_claim claim(lane_places) { return {}; }

    /// The same operations, for whoever may begin one after this object is gone: that fails with errc::stopped. Null:
    /// there is no such thing, and this object outlives all who use it. From any thread.
    virtual std::shared_ptr<api> share() const { return nullptr; }

    virtual answer<send_message_response> send_message(send_message_request) = 0;
    virtual answer<send_message_batch_response> send_message_batch(send_message_batch_request) = 0;
    virtual answer<receive_message_response> receive_message(receive_message_request) = 0;
    virtual answer<empty_response> delete_message(delete_message_request) = 0;
    virtual answer<delete_message_batch_response> delete_message_batch(delete_message_batch_request) = 0;
    virtual answer<empty_response> change_message_visibility(change_message_visibility_request) = 0;
    virtual answer<change_message_visibility_batch_response> change_message_visibility_batch(
        change_message_visibility_batch_request) = 0;

    virtual answer<queue_url_response> create_queue(create_queue_request) = 0;
    virtual answer<empty_response> delete_queue(delete_queue_request) = 0;
    virtual answer<empty_response> purge_queue(purge_queue_request) = 0;
    virtual answer<queue_url_response> get_queue_url(get_queue_url_request) = 0;
    virtual answer<queue_urls_response> list_queues(list_queues_request) = 0;
    virtual answer<attributes_response> get_queue_attributes(get_queue_attributes_request) = 0;
    virtual answer<empty_response> set_queue_attributes(set_queue_attributes_request) = 0;
    virtual answer<queue_urls_response> list_dead_letter_source_queues(list_dead_letter_source_queues_request) = 0;

    virtual answer<empty_response> tag_queue(tag_queue_request) = 0;
    virtual answer<empty_response> untag_queue(untag_queue_request) = 0;
    virtual answer<tags_response> list_queue_tags(list_queue_tags_request) = 0;

    virtual answer<empty_response> add_permission(add_permission_request) = 0;
    virtual answer<empty_response> remove_permission(remove_permission_request) = 0;

    virtual answer<task_handle_response> start_message_move_task(start_message_move_task_request) = 0;
    virtual answer<moved_response> cancel_message_move_task(cancel_message_move_task_request) = 0;
    virtual answer<list_message_move_tasks_response> list_message_move_tasks(list_message_move_tasks_request) = 0;
};

} // namespace quern::sqs
