#pragma once

#include <quern/consumer/detail/conclude/conclude_stage.hpp>
#include <quern/consumer/detail/gate/pace.hpp>
#include <quern/consumer/detail/gate/redrive_inquiry.hpp>
#include <quern/consumer/detail/run/run_stage.hpp>
#include <quern/consumer/detail/stage_context.hpp>
#include <quern/policy/detail/flag_rule.hpp>
#include <quern/sqs/queue_attributes.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace quern::detail {

/// May it start? All that can say no stands here: a pause, a flag, the gate of outages, the rate. A message passes on
/// to its handler, waits here for its turn or for better times, or goes back.
class gate_stage {
public:
    gate_stage(stage_context&, run_stage& to, conclude_stage& back);

    /// A message that was just received. `blind`: one before it in the same answer is unreadable, and nobody knows of
    /// which group, so that it must not run.
    void take(held_ptr, bool blind, tick now);

    /// Messages that may be received besides those that are coming.
    std::size_t room(tick now);

    /// Places of max_in_flight that are taken.
    std::size_t places_taken() const { return conclude_.places_taken(); }

    /// Messages that wait for their turn.
    std::size_t waiting() const
    {
        return arrived_.size() + context_.turns.waiting() + run_.places().gathering.waiting();
    }

    void limits_are_turned(tick now);

    /// Admits messages that waited for better times or their turn, before new messages are asked for.
    void admit_waiting(tick now);

    /// Starts whatever may run; says when time alone will let more.
    std::optional<tick> turn(tick now);

    void begin_drain(tick now); ///< what has not begun goes back

    void pause(std::string why);
    void resume();
    void report_outage(bool down);
    void probe_now();

    bool is_paused() const { return paused_; }
    bool is_stopped(tick now) const { return paused_ || reported_ || flag_.halts(now) || run_.is_stuck(); }

    /// "paused: …", "an outage is reported"; empty: neither.
    std::string why_stopped() const;
    policy::detail::flag_rule const& flag() const { return flag_; }
    pace& speed() { return pace_; }

private:
    void admit(held_ptr, tick now, bool its_turn = false);
    void start(held_ptr, bool hurries, tick now);
    bool may_start(tick now) { return !is_stopped(now) && pace_.has_turn(now) && run_.places().may_place(); }
    void name(held&);
    void take_leave(gate::leave const&, tick now);
    std::optional<tick> give_surplus_back(tick now);
    void follow(tick now, bool anew = false);
    void tell_of_changes(tick now);
    void heed_flag(tick now);
    boost::asio::awaitable<void> read_flag();
    boost::asio::awaitable<void> learn_redrive_policy();
    void take_up(sqs::redrive_policy const&);

    stage_context& context_;
    run_stage& run_;
    conclude_stage& conclude_;

    pace pace_;
    std::optional<double> gentle_rate_; // of the gate, as pace_ has it
    redrive_inquiry redrive_;
    bool found_down_ = false; // as it has heard
    policy::detail::flag_rule flag_;
    policy::detail::flag_rule::state flag_was_; // as the log has it
    bool stopped_ = false;                      // as the gate has heard
    bool forced_ = false;                       // by a flag or a report, as the observer has heard
    bool reported_ = false;
    bool paused_ = false;
    std::string why_paused_; // for a human; may be empty
    std::vector<held_ptr> arrived_;
    tick surplus_at_{}; // when the look-ahead was looked at last
};

} // namespace quern::detail
