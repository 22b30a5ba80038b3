#pragma once

#include <quern/sqs/api.hpp>

#include <functional>

namespace quern::app {

/// Passes everything on, and tells what was received, and which receipt handles the service confirms as deleted.
class observed_api final : public sqs::api {
public:
    template <class T>
    using answer = sqs::answer<T>;

    explicit observed_api(sqs::api& to) : to_(to) {}

    std::function<void(sqs::message const&)> on_received;
    std::function<void(std::string_view receipt_handle)> on_deleted;

    answer<sqs::receive_message_response> receive_message(sqs::receive_message_request r) override
    {
        auto got = co_await to_.receive_message(std::move(r));
        if (got) {
            for (auto const& m : got->messages)
                on_received(m);
        }
        co_return got;
    }
    answer<sqs::delete_message_batch_response> delete_message_batch(sqs::delete_message_batch_request r) override
    {
        auto const asked = r.entries;
        auto got = co_await to_.delete_message_batch(std::move(r));
        if (got) {
            for (auto const& done : got->successful) {
                for (auto const& e : asked) {
                    if (e.id == done.id) on_deleted(e.receipt_handle);
                }
            }
        }
        co_return got;
    }

    std::chrono::milliseconds clock_offset() const override { return to_.clock_offset(); }
    sqs::lane_claim claim(sqs::lane_places wanted) override { return to_.claim(wanted); }

    // The rest is passed on as it is.
    answer<sqs::send_message_response> send_message(sqs::send_message_request r) override
    {
        return to_.send_message(std::move(r));
    }
    answer<sqs::send_message_batch_response> send_message_batch(sqs::send_message_batch_request r) override
    {
        return to_.send_message_batch(std::move(r));
    }
    answer<sqs::empty_response> delete_message(sqs::delete_message_request r) override
    {
        return to_.delete_message(std::move(r));
    }
    answer<sqs::empty_response> change_message_visibility(sqs::change_message_visibility_request r) override
    {
        return to_.change_message_visibility(std::move(r));
    }
    answer<sqs::change_message_visibility_batch_response> change_message_visibility_batch(
        sqs::change_message_visibility_batch_request r) override
    {
        return to_.change_message_visibility_batch(std::move(r));
    }
    answer<sqs::queue_url_response> create_queue(sqs::create_queue_request r) override
    {
        return to_.create_queue(std::move(r));
    }
    answer<sqs::empty_response> delete_queue(sqs::delete_queue_request r) override
    {
        return to_.delete_queue(std::move(r));
    }
    answer<sqs::empty_response> purge_queue(sqs::purge_queue_request r) override
    {
        return to_.purge_queue(std::move(r));
    }
    answer<sqs::queue_url_response> get_queue_url(sqs::get_queue_url_request r) override
    {
        return to_.get_queue_url(std::move(r));
    }
    answer<sqs::queue_urls_response> list_queues(sqs::list_queues_request r) override
    {
        return to_.list_queues(std::move(r));
    }
    answer<sqs::attributes_response> get_queue_attributes(sqs::get_queue_attributes_request r) override
    {
        return to_.get_queue_attributes(std::move(r));
    }
    answer<sqs::empty_response> set_queue_attributes(sqs::set_queue_attributes_request r) override
    {
        return to_.set_queue_attributes(std::move(r));
    }
    answer<sqs::queue_urls_response> list_dead_letter_source_queues(
        sqs::list_dead_letter_source_queues_request r) override
    {
        return to_.list_dead_letter_source_queues(std::move(r));
    }
    answer<sqs::empty_response> tag_queue(sqs::tag_queue_request r) override { return to_.tag_queue(std::move(r)); }
    answer<sqs::empty_response> untag_queue(sqs::untag_queue_request r) override
    {
        return to_.untag_queue(std::move(r));
    }
    answer<sqs::tags_response> list_queue_tags(sqs::list_queue_tags_request r) override
    {
        return to_.list_queue_tags(std::move(r));
    }
    answer<sqs::empty_response> add_permission(sqs::add_permission_request r) override
    {
        return to_.add_permission(std::move(r));
    }
    answer<sqs::empty_response> remove_permission(sqs::remove_permission_request r) override
    {
        return to_.remove_permission(std::move(r));
    }
    answer<sqs::task_handle_response> start_message_move_task(sqs::start_message_move_task_request r) override
    {
        return to_.start_message_move_task(std::move(r));
    }
    answer<sqs::moved_response> cancel_message_move_task(sqs::cancel_message_move_task_request r) override
    {
        return to_.cancel_message_move_task(std::move(r));
    }
    answer<sqs::list_message_move_tasks_response> list_message_move_tasks(
        sqs::list_message_move_tasks_request r) override
    {
        return to_.list_message_move_tasks(std::move(r));
    }

private:
    sqs::api& to_;
};

} // namespace quern::app
