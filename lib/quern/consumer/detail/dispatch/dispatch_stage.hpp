#pragma once

#include <quern/consumer/detail/dispatch/batches.hpp>
#include <quern/consumer/detail/dispatch/call_limit.hpp>
#include <quern/consumer/detail/dispatch/call_line.hpp>
#include <quern/consumer/detail/dispatch/door.hpp>
#include <quern/consumer/detail/dispatch/fifo_groups.hpp>
#include <quern/consumer/detail/dispatch/handler_place.hpp>
#include <quern/consumer/detail/dispatch/outage.hpp>
#include <quern/consumer/detail/dispatch/pace.hpp>
#include <quern/consumer/detail/dispatch/redrive_inquiry.hpp>
#include <quern/consumer/detail/dispatch/run_limit.hpp>
#include <quern/consumer/detail/line.hpp>
#include <quern/consumer/detail/message/age_book.hpp>
#include <quern/consumer/detail/message/verdict.hpp>
#include <quern/consumer/detail/service_clock.hpp>
#include <quern/consumer/handler.hpp>
#include <quern/policy/detail/flag_rule.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern::detail {

class settle_stage;

/// The middle stage: which message runs when, its handler, and what its end means.
///
///     take -> admit -> place -> run -> ended -> conclude
///
/// admit   bad times and the rate decide whether it may run now, waits here, or goes back
/// place   alone, or with others in a batch
/// run     where handlers run, posted
/// ended   back on the strand: the verdict
class dispatch_stage final : private door_keeper {
public:
    dispatch_stage(line&, settle_stage& to, handlers);

    /// Opens the way home for handlers. Requires  line::owner is set.
    void open();

    /// Handlers that end from now on are dropped: the context ends.
    void close() { door_->close(); }

    /// A message that was just received. `blind`: one before it in the same answer is unreadable, and nobody knows of
    /// which group, so that it must not run.
    void take(held_ptr, bool blind, tick now);

    /// Makes the handler of a message reach us.
    void attend(held& h) { h.message.kept_by(*door_, h); }

    /// How many messages may be here, and how many are, as far as bad times and the rate allow.
    outage::places room(tick now);
    std::size_t room_at_this_pace(tick now);

    /// The same, of handler_concurrency, while so many may come; and how many wait for one of these calls to end.
    std::size_t room_beside_calls(std::size_t coming) const
    {
        if (call_limit_.is_none()) return std::numeric_limits<std::size_t>::max();
        return call_limit_.room(calls_under_way(), coming + waiting());
    }
    std::size_t waiting() const { return arrived_.size() + pace_.waiting() + batches_.waiting(); }

    void limits_are_turned(tick now);

    /// Admits messages that waited for better times or their turn, before new messages are asked for.
    void admit_waiting(tick now);

    /// Starts whatever may run; says when time alone will let more.
    std::optional<tick> turn(tick now);

    void begin_drain(tick now); ///< what has not begun goes back
    void cancel_all();          ///< running handlers are told to end

    void pause(std::string why);
    void resume();
    void report_outage(bool);

    policy::flag_rule const& flag() const { return flag_; }
    outage& bad_times() { return outage_; }
    pace& speed() { return pace_; }

private:
    bool takes_batches() const { return static_cast<bool>(door_->handle.many); }
    std::size_t calls_under_way() const { return takes_batches() ? batch_calls_ : line_.running; }
    std::size_t batch_size() const { return std::min(line_.options.batch_size, line_.limits.max_in_flight); }

    /// One more call may begin. Messages that gather for a call are not one yet.
    bool may_call() const { return call_limit_.is_none() || call_limit_.admits(calls_under_way()); }
    bool may_place() const { return call_limit_.is_none() || takes_batches() || may_call(); }

    // dispatch_stage.cpp
    void admit(held_ptr, tick now);
    void place(held_ptr, tick now);
    std::string dependency_of(held const&);
    void note_wait(held const&, tick now);
    void stand_back(held_ptr, tick now);
    void tell_of_outages(tick now);
    wall_time service_time();
    age_book& book_of(held const& h) { return h.depends_on ? h.depends_on->ages : ages_; }
    std::uint64_t owner_of_waits(held const&) const;
    void heed_notices(tick now);
    void run_batches(tick now);
    boost::asio::awaitable<void> learn_redrive_policy();
    void take_up(redrive_policy const&);
    void reject(held_ptr, std::string reason, tick now);
    void note_standing();

    // flag.cpp
    void heed_flag(tick now);
    boost::asio::awaitable<void> read_flag();

    // running.cpp
    void run(held_ptr, tick now);
    void run(std::vector<held_ptr>, tick now);
    clock const* tells() const;
    std::shared_ptr<handler_run> make_run(std::size_t messages);
    handler_turn::number begin_run(held&, tick now);
    void note_begun(held&, tick at);
    compact_strand handler_strand();
    void stop_overdue(tick now);
    void cancel(held&);
    bool call_off(held&);
    void call_off_revoked(tick now);
    void tell(held&, bool is_new);
    static void tell_when_all_say_so(std::shared_ptr<handler_run> const&);

    // ended.cpp
    void welcome() override;
    void no_place() override;
    void has_begun(held_ptr) override;
    void delete_asked(held_ptr, reply) override;
    void extend_asked(held_ptr, std::chrono::seconds, reply) override;
    void guard_asked(held_ptr, std::shared_ptr<lease_guard>, reply) override;
    void look_at_welcomed(tick now);
    void ended(finished&&, tick now);
    void try_after_its_destruction(held_ptr, tick now);
    void ended_after_ack(held_ptr const&, finished const&, tick now);
    void carry_out(held_ptr const&, message_life::actions, tick now);
    void heed(held_ptr const&, message_life::actions, tick now);
    meaning meaning_of_end(held const&, finished&&);
    void note(held const&, meaning const&, tick now);
    void conclude(held_ptr, outcome const&, tick now, bool malformed = false);
    circumstances circumstances_of(held const&);
    void found_down(held_ptr, outcome const&, tick now);
    void put_off(held_ptr, outage::way_back const&, tick now);
    void wait_here(held const& head, tick now);
    void note_spilled(held const&, tick now);
    bool has_places_for_tails() const;
    void postpone(
        held_ptr, std::chrono::milliseconds delay, tick now, bool waits_for_head = false, bool in_outage = false);
    void give_back(held_ptr h, tick now) { postpone(std::move(h), {}, now); }
    void give_back_tail(held const&, tick now, bool in_outage = false);

    line& line_;
    settle_stage& settle_;
    std::shared_ptr<door> const door_;
    handler_place place_;
    std::shared_ptr<call_line> const calls_;

    pace pace_;
    outage outage_;
    service_clock service_clock_;
    age_book ages_;   // of this consumer as a whole
    age_books waits_; // of messages, or groups, that were put off each for itself
    redrive_inquiry redrive_;
    policy::flag_rule flag_;
    policy::flag_rule::state flag_was_; // as the log has it
    fifo_groups groups_;
    batches batches_;
    run_limit runs_;
    call_limit call_limit_;
    std::size_t batch_calls_ = 0; // under way; of other handlers a message each is one

    std::vector<held_ptr> arrived_;                    // to be admitted
    std::vector<finished> welcomed_;                   // being looked at; a member for its memory
    std::size_t looked_at_ = 0;                        // of these
    std::vector<compact_strand> const shared_strands_; // of handlers
    std::size_t next_strand_ = 0;                      // of these
};

} // namespace quern::detail
