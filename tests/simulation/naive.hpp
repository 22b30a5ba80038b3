#pragma once

#include <quern/sim/subject.hpp>

namespace quern::sim {

/// Defects of consumers in the field, a flag each. With none set, the naive consumer keeps the promises.
struct flaws {
    // receiving
    bool asks_for_ten = false;            ///< whatever is free, and runs all of them
    bool leaks_places = false;            ///< what a receive had reserved is not returned when it fails
    bool ends_at_an_error = false;        ///< the first failed receive ends the loop
    bool ends_at_three_errors = false;    ///< in a row
    bool retries_at_once = false;         ///< no pause after a failure
    bool logs_everything = false;         ///< a line for every failure
    bool asks_on_without_handles = false; ///< at once, though nothing of the answer can be settled
    bool releases_damaged = false;        ///< an unreadable message goes back at visibility 0
    bool runs_redeliveries = false;       ///< though the message runs here already
    bool keeps_the_old_handle = false;    ///< when a message that is held here comes again
    bool combines_polls = false;          ///< two receives make a batch, which is dropped when the second fails
    bool keeps_old_limits = false;        ///< whoever turns them
    bool ignores_bytes = false;           ///< asks for more, however large what is held already
    bool forgets_attempts = false;        ///< a FIFO receive whose answer is lost is not asked for again
    bool gives_up_polls = false;          ///< after a second, however long they wait at the service
    bool stops_for_one = false;           ///< for a minute, when one message finds what it needs down
    bool stays_slow = false;              ///< one at a time after three such in a row, until twenty succeed in a row
    bool relapses_at_one = false;         ///< two, four, … at a time after that, and one again whenever a try fails
    bool stops_for_unreadable = false;    ///< for a minute, as if that said anything about what handlers need
    // leases
    bool extends_once = false;            ///< and then no more
    bool extends_when_running = false;    ///< and not while a message waits for its handler
    bool extends_until_deleting = false;  ///< and not until the delete is confirmed
    bool gives_up_extending = false;      ///< at the first refusal
    bool assumes_thirty_seconds = false;  ///< as the lease, whatever its settings are
    bool extends_at_five_seconds = false; ///< before the end, however short the lease is
    bool extends_after_backoff = false;   ///< until the backoff is confirmed, so that a tick overtakes it
    bool acks_without_lease = false;      ///< no cancelling, no fencing
    bool extends_all_the_time = false;    ///< every 5 ms, where 5 s were meant
    bool abandons_overdue = false;        ///< a handler that ran for too long counts as failed, and runs on
    bool never_times_out = false;         ///< handler_timeout is not obeyed
    // plain functions
    bool begins_without_lease = false;  ///< one whose lease is over by the time a thread is free
    bool waits_for_threads = false;     ///< with what has not begun when it stops, and says that it runs
    bool begins_while_stopping = false; ///< one that has waited for its thread
    // settling
    bool says_deleted_at_once = false;   ///< to a handler that awaits its delete
    bool forgets_failed_calls = false;   ///< a delete call that fails is not made again
    bool forgets_failed_entries = false; ///< what a batch answer names as failed is not read
    bool keys_deletes_by_id = false;     ///< a redelivery's delete replaces the first, whose end nobody then hears
    bool leaves_failures = false;        ///< to their visibility timeout
    bool keeps_poisoned = false;         ///< what finds its dependency down stays here, and runs again
    bool counts_standing_back = false;   ///< as age, above which what fails is deleted
    bool retries_failures_hot = false;   ///< at visibility 0
    bool deletes_whole_batch = false;    ///< what failed in a call of a batch handler with the rest
    bool abandons_batch = false;         ///< what has not begun when a handler fails is forgotten
    // groups
    bool ignores_groups = false;      ///< runs them as if there were none
    bool overtakes_failed = false;    ///< the next of a group runs when the one before has failed
    bool overtakes_discarded = false; ///< before the delete of one that was thrown away as malformed is confirmed
    bool overtakes_damaged = false;   ///< an unreadable message is dropped from the batch, those behind it run
    // stopping
    bool drops_late_arrivals = false;  ///< messages that arrive while stopping
    bool drops_unstarted = false;      ///< messages received and not started
    bool stops_extending = false;      ///< as soon as the stop begins, while handlers run on
    bool releases_running = false;     ///< gives back what its handlers are working on
    bool drops_deletes = false;        ///< their calls are cancelled with the rest
    bool leaves_receive_open = false;  ///< which then takes messages for nobody
    bool says_stopped_at_once = false; ///< while handlers run
    bool stops_without_limit = false;  ///< waits for the last handler, however long
    bool never_stops = false;          ///< its loop cannot be cancelled
};

/// A consumer as one writes it in an afternoon: one receive at a time, a heartbeat for each message, deletes in
/// batches, the messages of a group one by one.
subject_factory naive_consumer(flaws);

} // namespace quern::sim
