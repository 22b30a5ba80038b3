#pragma once

#include <quern/sqs/api.hpp>

namespace quern::test {

/// An SQS that fails every call as "not expected". Tests override the operations that they expect.
class stub_api : public sqs::api {
public:
    template <class T>
    using answer = sqs::answer<T>;

    answer<sqs::send_message_response> send_message(sqs::send_message_request) override { return refuse(); }
    answer<sqs::send_message_batch_response> send_message_batch(sqs::send_message_batch_request) override
    {
        return refuse();
    }
    answer<sqs::receive_message_response> receive_message(sqs::receive_message_request) override { return refuse(); }
    answer<sqs::empty_response> delete_message(sqs::delete_message_request) override { return refuse(); }
    answer<sqs::delete_message_batch_response> delete_message_batch(sqs::delete_message_batch_request) override
    {
        return refuse();
    }
    answer<sqs::empty_response> change_message_visibility(sqs::change_message_visibility_request) override
    {
        return refuse();
    }
    answer<sqs::change_message_visibility_batch_response> change_message_visibility_batch(
        sqs::change_message_visibility_batch_request) override
    {
        return refuse();
    }
    answer<sqs::queue_url_response> create_queue(sqs::create_queue_request) override { return refuse(); }
    answer<sqs::empty_response> delete_queue(sqs::delete_queue_request) override { return refuse(); }
    answer<sqs::empty_response> purge_queue(sqs::purge_queue_request) override { return refuse(); }
    answer<sqs::queue_url_response> get_queue_url(sqs::get_queue_url_request) override { return refuse(); }
    answer<sqs::queue_urls_response> list_queues(sqs::list_queues_request) override { return refuse(); }
    answer<sqs::attributes_response> get_queue_attributes(sqs::get_queue_attributes_request) override
    {
        return refuse();
    }
    answer<sqs::empty_response> set_queue_attributes(sqs::set_queue_attributes_request) override { return refuse(); }
    answer<sqs::queue_urls_response> list_dead_letter_source_queues(
        sqs::list_dead_letter_source_queues_request) override
    {
        return refuse();
    }
    answer<sqs::empty_response> tag_queue(sqs::tag_queue_request) override { return refuse(); }
    answer<sqs::empty_response> untag_queue(sqs::untag_queue_request) override { return refuse(); }
    answer<sqs::tags_response> list_queue_tags(sqs::list_queue_tags_request) override { return refuse(); }
    answer<sqs::empty_response> add_permission(sqs::add_permission_request) override { return refuse(); }
    answer<sqs::empty_response> remove_permission(sqs::remove_permission_request) override { return refuse(); }
    answer<sqs::task_handle_response> start_message_move_task(sqs::start_message_move_task_request) override
    {
        return refuse();
    }
    answer<sqs::moved_response> cancel_message_move_task(sqs::cancel_message_move_task_request) override
    {
        return refuse();
    }
    answer<sqs::list_message_move_tasks_response> list_message_move_tasks(
        sqs::list_message_move_tasks_request) override
    {
        return refuse();
    }

private:
    /// Becomes the answer of whichever operation returns it.
    struct refuse {
        template <class T>
        operator boost::asio::awaitable<T>() const
        {
            return fail<T>();
        }
        template <class T>
        static boost::asio::awaitable<T> fail()
        {
            co_return failure(errc::service_error, "this operation is not expected");
        }
    };
};

} // namespace quern::test
