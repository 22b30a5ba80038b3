#pragma once

#include <quern/broker/engine.hpp>
#include <quern/core/alarm.hpp>
#include <quern/sqs/api.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <memory>

namespace quern::sim {

/// SQS without a network: every operation is answered by a broker's engine, at the time of the given clock.
///
/// Cancellation  as with the service, a long poll that is cancelled goes on: a message that arrives for it is
///               hidden until its visibility timeout.
/// Lifetime      the engine and the clock outlive it.
/// Threads       one strand: that of the executor given.
class local_api final : public sqs::api {
public:
    local_api(broker::engine&, clock&, boost::asio::any_io_executor);
    ~local_api() override;

    template <class T>
    using answer = sqs::answer<T>;

    answer<sqs::send_message_response> send_message(sqs::send_message_request) override;
    answer<sqs::send_message_batch_response> send_message_batch(sqs::send_message_batch_request) override;
    answer<sqs::receive_message_response> receive_message(sqs::receive_message_request) override;
    answer<sqs::empty_response> delete_message(sqs::delete_message_request) override;
    answer<sqs::delete_message_batch_response> delete_message_batch(sqs::delete_message_batch_request) override;
    answer<sqs::empty_response> change_message_visibility(sqs::change_message_visibility_request) override;
    answer<sqs::change_message_visibility_batch_response> change_message_visibility_batch(
        sqs::change_message_visibility_batch_request) override;
    answer<sqs::queue_url_response> create_queue(sqs::create_queue_request) override;
    answer<sqs::empty_response> delete_queue(sqs::delete_queue_request) override;
    answer<sqs::empty_response> purge_queue(sqs::purge_queue_request) override;
    answer<sqs::queue_url_response> get_queue_url(sqs::get_queue_url_request) override;
    answer<sqs::queue_urls_response> list_queues(sqs::list_queues_request) override;
    answer<sqs::attributes_response> get_queue_attributes(sqs::get_queue_attributes_request) override;
    answer<sqs::empty_response> set_queue_attributes(sqs::set_queue_attributes_request) override;
    answer<sqs::queue_urls_response> list_dead_letter_source_queues(
        sqs::list_dead_letter_source_queues_request) override;
    answer<sqs::empty_response> tag_queue(sqs::tag_queue_request) override;
    answer<sqs::empty_response> untag_queue(sqs::untag_queue_request) override;
    answer<sqs::tags_response> list_queue_tags(sqs::list_queue_tags_request) override;
    answer<sqs::empty_response> add_permission(sqs::add_permission_request) override;
    answer<sqs::empty_response> remove_permission(sqs::remove_permission_request) override;
    answer<sqs::task_handle_response> start_message_move_task(sqs::start_message_move_task_request) override;
    answer<sqs::moved_response> cancel_message_move_task(sqs::cancel_message_move_task_request) override;
    answer<sqs::list_message_move_tasks_response> list_message_move_tasks(
        sqs::list_message_move_tasks_request) override;

private:
    class polls;

    template <class T>
    answer<T> done(result<T>);

    broker::engine& engine_;
    clock& time_;
    std::shared_ptr<polls> polls_;
};

} // namespace quern::sim
