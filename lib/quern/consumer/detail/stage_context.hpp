#pragma once

#include <quern/consumer/counters.hpp>
#include <quern/consumer/detail/byte_limit.hpp>
#include <quern/consumer/detail/drain.hpp>
#include <quern/consumer/detail/lease_book.hpp>
#include <quern/consumer/detail/message/ledger.hpp>
#include <quern/consumer/detail/turns.hpp>
#include <quern/consumer/drain_report.hpp>
#include <quern/consumer/gate.hpp>
#include <quern/consumer/observer.hpp>
#include <quern/consumer/options.hpp>
#include <quern/core/alarm.hpp>
#include <quern/core/detail/compact_strand.hpp>
#include <quern/sqs/api.hpp>
#include <quern/telemetry/counter.hpp>
#include <quern/telemetry/log.hpp>

#include <boost/asio/awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quern::detail {

/// State that the stages share: what is in flight with its leases, the settings, time, chance, the log, and the way
/// to SQS.
///
/// The stages pass messages on in one direction, intake -> gate -> run -> conclude -> settle, and each knows only
/// those behind it. A later stage that learns something which concerns an earlier one (a message's lease is lost, its
/// group may go on) leaves it here as a notice, which that stage takes up in its next turn.
///
/// Threads  everything on the strand, but for `in_flight.size()` and the counters, which any thread may read.
struct stage_context {
    stage_context(compact_strand, sqs::api&, std::string queue_url, consumer_options);

    /// Runs `work` on the strand. While it does, the context does not run out of work and `owner` stays alive.
    void spawn(boost::asio::awaitable<void> work);

    /// Carries out what an event in the life of a message asks for, and leaves notice of what others have to do.
    void carry_out(held_ptr const&, message_life::actions, tick at);

    /// Tells the observer, where there is one, of an event in a message's life.
    template <class... Told, class... Args>
    void observe(
        held const& h, tick at, void (observer::*event)(observed_message const&, Told...), Args const&... args)
    {
        if (!watcher) return;
        observed_message seen;
        look(h, at, seen);
        observe(event, seen, args...);
    }

    /// The same, of an event in the consumer's.
    template <class... Told, class... Args>
    void observe(void (observer::*event)(Told...), Args const&... args)
    {
        if (!watcher) return;
        try {
            (watcher->*event)(args...);
        } catch (...) { // what we are in the middle of must be finished
            note_thrown("observer", std::current_exception());
        }
    }

    /// Logs what somebody else's code has thrown.
    void note_thrown(char const* cause, std::exception_ptr const&);

    /// Its handler has it, or has ended; both for the observer.
    void note_begun(held&);
    void note_ended(held&, handler_end, outcome const& verdict, std::string_view text, tick at);

    /// Subject of a line of the log about it.
    static log_subject about(held const& h)
    {
        log_subject out;
        out.message_id = h.message.id();
        out.attempt = h.message.receive_count();
        return out;
    }

    /// Rounds up, so that the message never comes early; within the 12 hours that SQS counts from the receive.
    std::chrono::seconds whole_seconds(held const&, std::chrono::milliseconds delay, tick at) const;

    /// How many more messages fit into max_bytes_in_flight.
    std::size_t bytes_room() const { return bytes.room(in_flight.bytes(), coming); }

    /// The drain has not yet come to its last tenth: what is not wanted may wait until no receive is open.
    bool keeps_back(tick at) const { return ending && ending->keeps_back(at) && open_receives != 0; }

    /// Given back, it would go to the dead-letter queue.
    bool is_last_receive(held const& h) const { return max_receives != 0 && h.receive_count >= max_receives; }

    /// True while the handler runs on, a visibility timeout after handler_timeout.
    bool hangs(held const& h, tick at) const
    {
        auto const& limit = options.handler_timeout;
        return limit && h.run_hook::is_linked() && h.started_at + *limit + options.visibility_timeout <= at;
    }

    /// A message as the gate knows it.
    quern::gate::subject subject_of(held const&) const;

    /// How many messages may wait for better times: a quarter; of one place only it would be all.
    std::size_t places_to_wait() const
    {
        return limits.max_in_flight == 1 ? 0 : std::max<std::size_t>(1, limits.max_in_flight / 4);
    }

    tick now() const { return time.now(); }

    compact_strand const strand;
    std::optional<boost::asio::any_io_executor> handlers_run_on; ///< of the options, until a stage has taken it
    consumer_options const options;                              ///< but for that
    consumer_limits limits;                                      ///< of these options, or what has been made of them
    clock& time;
    sqs::api& api;
    std::string const queue_url;
    bool const fifo;
    std::weak_ptr<void> owner; ///< of this context and its stages
    observer* watcher;         ///< null: nobody, or the drain has ended
    bool const tells_queued;   ///< to it

    std::shared_ptr<consumer_numbers<counter>> const shared_counters = std::make_shared<consumer_numbers<counter>>();
    consumer_numbers<counter>& counters = *shared_counters;
    ledger in_flight;
    lease_book leases;
    std::mt19937_64 random;
    log_throttle log;
    alarm wake;

    std::shared_ptr<quern::gate> gate;                      ///< of outages; set once all stages stand
    int max_receives = 0;                                   ///< of the redrive policy; 0: none, or not known
    std::unordered_map<std::uint64_t, held_ptr> waits_here; ///< by their numbers, as the gate has them
    bool found_down = false;                                ///< the last handler that had news, what it needs
    std::vector<held_ptr> again;                            ///< called back before they began, to be admitted

    byte_limit bytes;
    detail::turns turns;    ///< of those that wait to be handled
    std::size_t coming = 0; ///< messages that the open receives may bring
    std::size_t open_receives = 0;
    tick::duration receive_takes{}; ///< that brings something, at the least of late; zero: not known
    std::size_t running = 0;        ///< handlers
    std::optional<drain> ending;
    drain_report report;
    bool ended = false;             ///< nobody may use the api any more
    std::optional<failure> gave_up; ///< why

    /// The URL of the queue for rejected messages: the poison queue, else the redrive policy's dead-letter queue.
    /// Empty: there is neither, so they are deleted. Absent: not known yet.
    std::optional<std::string> rejected_go_to;
    std::function<void()> halt; ///< begins a drain

    /// A message, and what an earlier stage has to do about it: see for_earlier_stages.
    struct notice {
        held_ptr what;
        message_life::actions todo;
    };
    std::vector<notice> notices;

    /// The time that changing the visibility of so many messages takes, when calls take as long as of late.
    tick::duration time_to_change(std::size_t messages) const;
    void note_call(tick::duration took);
    void note_receive(tick::duration took); ///< calls take no longer, as far as is known before the first

    /// Keeping the leases of what is held takes as much as SQS answers: none of it may be lost for what comes new.
    bool has_leases_enough() const { return time_to_change(leases.short_ones()) > leases.usual() / 2; }

    /// The loop wanted to go on at `wanted`, and does at `at`: late when its thread was blocked or the machine slept.
    void note_woken(tick wanted, tick at);

private:
    void note_lost(held&, tick at);
    void note_rejected(held const&);
    void note_given_back(held const&);
    static void look(held const&, tick, observed_message&);

    tick::duration call_takes_{};
    bool has_called_ = false;
    tick::duration blocked_for_{};
    tick blocked_until_{};
    std::size_t spawned_ = 0;                             // coroutines under way, which
    std::optional<boost::asio::any_io_executor> at_work_; // keep the context from running out of work
};

/// Actions that run and conclude take about a message; stage_context::carry_out() takes the rest itself.
inline constexpr message_life::actions for_earlier_stages = message_life::give_back_tail | message_life::leave_group |
    message_life::cancel | message_life::send_delete | message_life::try_later;

/// Answers whoever waits for a delete of this message (`deleted`) or an extension, which comes too late in any case.
void tell_asks(held&, result<void> const& deleted);

/// How a message's time here ended, by what there is to do when it leaves the ledger.
message_end end_of(message_life::actions, bool was_lost, std::chrono::seconds postponed);

/// "The message is settled, or its lease is lost": errc::receipt_expired.
[[nodiscard]] result<void> too_late();

} // namespace quern::detail
