#pragma once

#include <quern/broker/detail/checks.hpp>
#include <quern/broker/detail/errors.hpp>
#include <quern/broker/detail/move_task.hpp>
#include <quern/broker/detail/queue.hpp>
#include <quern/broker/detail/services.hpp>
#include <quern/broker/engine.hpp>

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace quern::broker::detail {

/// All queues, waiting polls and move tasks. The engine's operations are spread over the files that include this.
struct engine_state : services {
    using services::services;

    // ---- directory.cpp
    /// The queue that a QueueUrl names, or why there is none.
    [[nodiscard]] result<queue*> by_url(std::string_view url);
    /// Queue of that name in the caller's account, unless another is given; null: there is none.
    queue* by_name(std::string_view name, std::string_view account = {});
    queue* by_arn(std::string_view arn);
    /// The only queue of that name, ARN or url in all regions and accounts, or why there is none.
    [[nodiscard]] result<queue*> find(std::string_view named);
    std::string url_of(queue const&) const;
    [[nodiscard]] std::optional<failure> check_redrive(queue_settings const&, std::string_view own_arn);

    // ---- receiving.cpp
    /// Takes what the request may have now. Messages that were received too often go to the dead-letter queue.
    sqs::receive_message_response take(queue&, sqs::receive_message_request const&, instant now);
    /// A message of the queue may have become visible.
    void wake(queue& q) { awake_.push_back(&q); }
    /// Gives the waiting polls of the queues that were woken what there is. Every operation ends with it.
    void serve(instant now);
    void finish(parked_poll&, result<sqs::receive_message_response>);

    // ---- moving.cpp
    void step(move_task&, instant now);
    void move_one(move_task&, instant now);
    move_task* active_task(std::string_view source_arn);

    std::map<std::string, std::unique_ptr<queue>, std::less<>> queues; ///< by ARN
    std::map<std::string, instant, std::less<>> deleted;               ///< ARNs that rest
    std::unordered_map<poll_id, std::unique_ptr<parked_poll>> polls;
    std::deque<ready_poll> ready;
    std::list<move_task> tasks; ///< newest first

private:
    std::vector<stored_message*> select(queue&, std::size_t most, instant until, instant now);
    std::vector<stored_message*> replay(queue&, std::string const& attempt_id, instant until, instant now);
    queue* redrive_target(queue&, stored_message const&);
    void redrive(queue& from, stored_message&, queue& to, instant now);
    void repeat(queue&, std::string const& attempt_id, instant now);

    std::vector<queue*> awake_;
};

} // namespace quern::broker::detail
