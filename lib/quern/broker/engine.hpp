#pragma once

#include <quern/broker/faults.hpp>
#include <quern/broker/journal.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/sqs/message.hpp>
#include <quern/sqs/types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::broker {

namespace detail {
struct engine_state;
}

/// The only time that the engine knows. It must never go backwards: a server adds the steady time that has passed
/// since its start, and what its machine has slept since, to the calendar time of its start; the simulator passes its
/// virtual clock's wall().
using instant = wall_time;

struct engine_options {
    std::string region = "us-east-1";                ///< of callers who name none
    std::string account_id = "000000000000";         ///< likewise
    std::string base_url = "http://127.0.0.1:9324";  ///< origin of every QueueUrl that the engine returns
    std::string sender_id = "AIDAQUERNLOCALBROKER0"; ///< SenderId of every message

    /// Seed of message ids and receipt handles: equal seeds and calls give equal answers. Absent: the system draws
    /// one, so that no id comes twice and no handle outlives the run that gave it.
    std::optional<std::uint64_t> seed{};

    std::chrono::seconds name_rest{60};  ///< how long the name of a deleted queue is not given again
    std::chrono::seconds purge_rest{60}; ///< between two PurgeQueue of a queue. SQS: 60 s, both
    std::size_t max_in_flight = 120'000; ///< a queue: SQS developer guide, quotas

    /// A noisy tenant of a fair queue is noticed after a time drawn from zero to this, anew for each spell of noise.
    /// Zero: at once. AWS says no time; seven minutes have been measured.
    std::chrono::seconds noise_noticed_within{0};
    fault_settings faults{};
};

/// Identity of a caller, known beside the request.
struct caller {
    std::string region; ///< where names of queues belong; empty: as the engine's options say, here and below
    std::string account_id;
    std::string trace_header; ///< AWSTraceHeader of the messages sent without one; empty: none
};

/// A long poll that waits for a message.
using poll_id = std::uint64_t;

/// Result of a receive: messages at once, or a place in the queue's line of waiting polls.
struct received {
    sqs::receive_message_response answer;
    std::optional<poll_id> parked; ///< set: no answer yet, it comes out of take_ready()
};

/// A long poll that has ended: with messages, empty at its deadline, or with QueueDoesNotExist.
struct ready_poll {
    poll_id id;
    result<sqs::receive_message_response> answer;
};

/// Messages of a queue, by what became of them since the engine began, or the queue did.
struct queue_counts {
    std::uint64_t sent = 0;
    std::uint64_t received = 0; ///< each receive of a message counts
    std::uint64_t deleted = 0;  ///< by their receipt handles
    std::uint64_t moved = 0;    ///< to another queue: a dead-letter queue, or back from one
};

/// A queue as it looks from outside of SQS.
struct queue_look {
    std::string name, arn, url;
    bool fifo = false;
    std::size_t visible = 0, delayed = 0, in_flight = 0;
    std::optional<instant> oldest_sent_at; ///< of the oldest message; a move may count as sending
    std::string dead_letter_arn;           ///< where messages go after `max_receive_count` receives; empty: nowhere
    int max_receive_count = 0;
    queue_counts counts;
};

/// A message as it looks to one who does not receive it.
struct message_look {
    std::string id, body, group_id;
    std::string_view state; ///< "visible", "delayed", "in flight"
    int receive_count = 0;
    instant sent_at{};
};

/// SQS in memory: the queues of all accounts and regions, apart from each other; every rule and error of the service,
/// no I/O.
///
/// Time      passes only through the `now` of the calls. What is due until then is done first, each at its moment.
/// Polls     may end in any call: after each, take what take_ready() has.
/// Errors    are failures with the code, HTTP status and text of the service; see find_error() for their JSON type.
/// Requests  an empty string counts as a missing parameter. max_messages has no "absent": a server puts the
///           service's default, 1, there.
/// Urls      all start with engine_options::base_url, so that a server may put the origin there by which its caller
///           reached it. Of a QueueUrl in a request the account and the name count; a bare name will do.
/// Threads   none; one caller at a time.
class engine {
public:
    explicit engine(engine_options = {});
    ~engine();
    engine(engine const&) = delete;
    engine& operator=(engine const&) = delete;

    engine_options const& options() const;

    /// Sets the caller of all calls from now on.
    void set_caller(caller);

    /// For the server, which carries out the faults of the connection.
    fault_plan& faults();
    /// Replaces the plan, from the next call on.
    void set_faults(fault_settings);

    [[nodiscard]] result<sqs::send_message_response> send_message(sqs::send_message_request, instant now);
    [[nodiscard]] result<sqs::send_message_batch_response> send_message_batch(
        sqs::send_message_batch_request, instant now);
    [[nodiscard]] result<received> receive_message(sqs::receive_message_request, instant now);
    [[nodiscard]] result<sqs::empty_response> delete_message(sqs::delete_message_request const&, instant now);
    [[nodiscard]] result<sqs::delete_message_batch_response> delete_message_batch(
        sqs::delete_message_batch_request const&, instant now);
    [[nodiscard]] result<sqs::empty_response> change_message_visibility(
        sqs::change_message_visibility_request const&, instant now);
    [[nodiscard]] result<sqs::change_message_visibility_batch_response> change_message_visibility_batch(
        sqs::change_message_visibility_batch_request const&, instant now);

    [[nodiscard]] result<sqs::queue_url_response> create_queue(sqs::create_queue_request const&, instant now);
    [[nodiscard]] result<sqs::empty_response> delete_queue(sqs::delete_queue_request const&, instant now);
    [[nodiscard]] result<sqs::empty_response> purge_queue(sqs::purge_queue_request const&, instant now);
    [[nodiscard]] result<sqs::queue_url_response> get_queue_url(sqs::get_queue_url_request const&, instant now);
    [[nodiscard]] result<sqs::queue_urls_response> list_queues(sqs::list_queues_request const&, instant now);
    [[nodiscard]] result<sqs::attributes_response> get_queue_attributes(
        sqs::get_queue_attributes_request const&, instant now);
    [[nodiscard]] result<sqs::empty_response> set_queue_attributes(
        sqs::set_queue_attributes_request const&, instant now);
    [[nodiscard]] result<sqs::queue_urls_response> list_dead_letter_source_queues(
        sqs::list_dead_letter_source_queues_request const&, instant now);

    [[nodiscard]] result<sqs::empty_response> tag_queue(sqs::tag_queue_request const&, instant now);
    [[nodiscard]] result<sqs::empty_response> untag_queue(sqs::untag_queue_request const&, instant now);
    [[nodiscard]] result<sqs::tags_response> list_queue_tags(sqs::list_queue_tags_request const&, instant now);

    [[nodiscard]] result<sqs::empty_response> add_permission(sqs::add_permission_request const&, instant now);
    [[nodiscard]] result<sqs::empty_response> remove_permission(sqs::remove_permission_request const&, instant now);

    [[nodiscard]] result<sqs::task_handle_response> start_message_move_task(
        sqs::start_message_move_task_request const&, instant now);
    [[nodiscard]] result<sqs::moved_response> cancel_message_move_task(
        sqs::cancel_message_move_task_request const&, instant now);
    [[nodiscard]] result<sqs::list_message_move_tasks_response> list_message_move_tasks(
        sqs::list_message_move_tasks_request const&, instant now);

    /// All queues of all regions and accounts, by ARN.
    std::vector<queue_look> look_at_queues(instant now);
    /// The queue of that name, ARN or url, of whatever region and account.
    ///
    /// Fails with  QueueDoesNotExist      there is none
    ///             InvalidParameterValue  there are several: neither a name nor a url of this broker tells the region
    [[nodiscard]] result<queue_look> find_queue(std::string_view named, instant now);
    /// The oldest messages of a queue, which stay as they are: at most so many, and 8 MiB of bodies.
    ///
    /// Fails with  as find_queue()
    [[nodiscard]] result<std::vector<message_look>> look_at_messages(
        std::string_view queue, std::size_t most, instant now);

    /// Takes over what the journal has kept, which must be done before anything else, and tells it all changes from
    /// now on. The journal outlives the engine.
    ///
    /// Fails with  what the journal says, or errc::invalid_option when what it kept makes no sense; the engine is of
    ///             no use then
    [[nodiscard]] result<void> keep_in(journal&, instant now);
    /// Something has changed since the last save(). What an answer says may be forgotten until then.
    bool unsaved() const;
    /// Has the journal keep what changed. After a failure the engine is ahead of its journal: nobody should be
    /// answered any more.
    [[nodiscard]] result<void> save();

    /// Forgets a parked poll; its answer never comes. (SQS itself goes on when a caller hangs up in the middle of a
    /// long poll, and strands a message that arrives then: call this only to be kinder than the service.)
    void cancel_poll(poll_id);

    /// The next poll that has ended, in the order in which they ended.
    std::optional<ready_poll> take_ready();

    /// The earliest moment at which time alone changes something: a delay, a visibility timeout, a retention period
    /// or a long poll ends, a move task takes its next step, a deduplication id is forgotten. Absent: nothing ever
    /// will.
    std::optional<instant> next_event() const;

    /// Does what is due by `now`, each thing at its own moment.
    void advance(instant now);

private:
    class restoring;
    std::unique_ptr<detail::engine_state> state_;
};

} // namespace quern::broker
