#pragma once

#include <quern/consumer/consumer.hpp>
#include <quern/consumer/detail/dispatch/batches.hpp>
#include <quern/consumer/detail/dispatch/fifo_groups.hpp>
#include <quern/consumer/detail/dispatch/outage.hpp>
#include <quern/consumer/detail/dispatch/redrive_inquiry.hpp>
#include <quern/consumer/detail/dispatch/run_limit.hpp>
#include <quern/consumer/detail/intake/byte_limit.hpp>
#include <quern/consumer/detail/intake/intake.hpp>
#include <quern/consumer/detail/intake/pace.hpp>
#include <quern/consumer/detail/lease/lease_book.hpp>
#include <quern/consumer/detail/message/ledger.hpp>
#include <quern/consumer/detail/settle/settle_queue.hpp>
#include <quern/consumer/detail/stall_watch.hpp>
#include <quern/core/alarm.hpp>
#include <quern/core/compact_strand.hpp>
#include <quern/sqs/client.hpp>

#include <boost/asio/signal_set.hpp>

#include <map>
#include <mutex>
#include <optional>

namespace quern {

/// Somebody who waits for the end of a drain. `tell` hands the report, or that the wait was cancelled, to their executor.
struct drain_waiter {
    std::function<void(boost::system::error_code, drain_report const&)> tell;
};

/// The drivers of the stages, in the order in which a message passes them. Everything is touched on the strand
/// only. One loop asks each rule what is due and starts it; every coroutine so started reports back to its rule
/// and rings the alarm.
class consumer::pipeline final : public std::enable_shared_from_this<pipeline>, private delivery::keeper {
public:
    /// `given` may be null: then the pipeline makes a client of its own from the environment.
    pipeline(boost::asio::any_io_executor, sqs::api* given, std::string queue_url, handlers, consumer_options);

    void start();
    void begin_drain(std::chrono::milliseconds limit);
    void drain_on(std::vector<int> const& signals, std::chrono::milliseconds limit);
    void pause(std::string why);
    void resume();
    void force_open(bool);
    explanation explain();
    void abandon();                           ///< nobody will ask any more: drain, if it ever ran
    void join(std::shared_ptr<drain_waiter>); ///< told when the drain has ended
    void leave(std::shared_ptr<drain_waiter> const&);

    compact_strand const strand;
    consumer_options const options;
    consumer_numbers<counter> counters;
    ledger in_flight;

private:
    boost::asio::awaitable<void> run();
    std::optional<tick> turn(tick now);
    bool is_drained(tick now);
    void end();

    // intake
    boost::asio::awaitable<void> poll(int ask);
    boost::asio::awaitable<result<sqs::receive_message_response>> receive(
        int ask, tick& started, std::chrono::seconds& wait);
    void accept(sqs::receive_message_response, tick now);
    held_ptr take_in(sqs::message, std::shared_ptr<answer> const&);
    held_ptr take_in(sqs::damaged_message, std::shared_ptr<answer> const&);
    void arrive(held_ptr);
    std::chrono::seconds wait_time() const;

    // dispatch
    void admit(held_ptr, tick now);
    void admit_waiting(tick now);
    void begin(held_ptr, tick now);
    void start(held_ptr);
    std::shared_ptr<handler_run> begin_run(std::span<held_ptr const>);
    void begin_run(held&);
    compact_strand handler_strand();
    struct homecoming;
    struct finished {
        held_ptr what;
        std::exception_ptr thrown;
        std::optional<outcome> said;
    };
    void dispatch(held_ptr);
    void dispatch(std::vector<held_ptr>);
    void call(held_ptr);
    static std::shared_ptr<pipeline> begins(std::weak_ptr<pipeline> const&, held_ptr const&);
    void has_begun(held_ptr);
    static void come_home(std::shared_ptr<pipeline>, finished);
    void welcome();
    void handled(held_ptr, std::exception_ptr, std::optional<outcome>);
    void handled(std::vector<held_ptr> const&, std::exception_ptr, std::vector<outcome> const&);
    outcome meaning_of(held&, std::exception_ptr);
    outcome malformed(held&, std::string const& why);
    void conclude(held_ptr, outcome const&);
    void fail(held_ptr, outcome const&);
    void fail_for(held_ptr, std::chrono::milliseconds delay, bool short_pause = false);
    void reject(held_ptr, std::string const& reason);
    void give_back_tail(held const&);
    void stand_back(held_ptr);
    void run_batches(tick now);
    boost::asio::awaitable<void> learn_max_receives();
    void stop_overdue(tick now);
    bool call_off(held&);
    void cancel(held&);
    void tell(held&);
    static void tell_when_all_say_so(std::shared_ptr<handler_run> const&);

    // what handlers ask for
    void ask_ack(held&, reply) override;
    void ask_extend(held&, std::chrono::seconds, reply) override;
    void extend_as_asked(held_ptr const&);
    void extended(held_ptr const&, std::chrono::seconds timeout);
    void deleted_early(held_ptr const&, settled);
    void delete_again(held_ptr const&);
    void ended_after_ack(held_ptr, std::exception_ptr, std::optional<outcome> const&);
    static void tell_asks(held&, result<void> const& deleted);
    static result<void> too_late();
    void forget_asks();

    // lease keeper
    void lose(held_ptr const&);
    void note_lost(held&);

    // settle
    void settle(held_ptr, settlement::purpose, std::chrono::milliseconds delay = {});
    boost::asio::awaitable<void> remove(std::vector<settlement>);
    boost::asio::awaitable<void> change(std::vector<settlement>);
    boost::asio::awaitable<void> hand_off(std::vector<settlement>);
    void settled_for_good(held&, settled, std::chrono::seconds timeout);
    void answered(settlement, result<void> const&, tick sent_at, tick time);
    void returned();

    // explain
    std::vector<explanation::obstacle> obstacles(tick now);
    void watch_for_stall(tick now);

    bool only_changes() const { return settle_calls_ - change_calls_ + 1 >= options.max_settle_calls; }
    tick now() const { return time_.now(); }
    void await_signal();
    void spawn(boost::asio::awaitable<void>);
    std::chrono::seconds whole_seconds(held const&, std::chrono::milliseconds delay) const;

    clock& time_;
    std::unique_ptr<sqs::client> own_client_;
    sqs::api& api_;
    std::string const queue_url_;
    bool const fifo_ = queue_url_.ends_with(".fifo");
    handlers const handle_;

    intake intake_;
    byte_limit bytes_;
    pace pace_;
    outage outage_;
    redrive_inquiry redrive_;
    fifo_groups groups_;
    batches batches_;
    lease_book leases_;
    run_limit runs_;
    settle_queue settle_;
    std::mt19937_64 random_;
    log_throttle log_;
    stall_watch stall_;
    log_throttle stall_log_; // of its own: no problem, but what is said about them
    alarm wake_;

    std::vector<held_ptr> arrived_;                       // to be admitted
    std::mutex door_;                                     // of the next two
    std::vector<finished> home_;                          // what became of handlers that have ended, on any thread
    bool expected_ = false;                               // welcome() will come for them
    std::vector<finished> welcomed_;                      // being looked at, the last first; a member for its memory
    std::vector<compact_strand> const shared_strands_;    // of handlers
    std::size_t next_strand_ = 0;                         // of these
    std::size_t running_ = 0;                             // handlers
    std::optional<boost::asio::any_io_executor> busy_;    // while some run, the context does not run out of work
    std::size_t spawned_ = 0;                             // coroutines of the pipeline, which as well
    std::optional<boost::asio::any_io_executor> at_work_; // keep the context from running out of work
    std::size_t settle_calls_ = 0;                        // under way
    std::size_t change_calls_ = 0;                        // of these, changes of visibility
    std::vector<held_ptr> kept_back_;                     // to be released once no receive of ours is open
    bool started_ = false;
    std::chrono::milliseconds drain_budget_ = options.drain_deadline; // of the shortest drain that may come
    std::optional<class drain> drain_;
    drain_report report_;
    bool ended_ = false;
    std::vector<std::shared_ptr<drain_waiter>> waiting_; // for the end of the drain
    std::optional<boost::asio::signal_set> signals_;
    std::map<int, std::chrono::milliseconds> signal_limits_; // of the drains that they begin
};

} // namespace quern
