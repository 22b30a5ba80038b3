#pragma once

#include <quern/consumer/detail/conclude/ages.hpp>
#include <quern/consumer/detail/conclude/fifo_groups.hpp>
#include <quern/consumer/detail/conclude/finished.hpp>
#include <quern/consumer/detail/conclude/given_back.hpp>
#include <quern/consumer/detail/conclude/verdict.hpp>
#include <quern/consumer/detail/stage_context.hpp>
#include <quern/consumer/gate.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace quern::detail {

class settle_stage;

/// Concludes from the end of a handler: the verdict, and what follows from it for the message and those behind it in
/// its group.
class conclude_stage {
public:
    conclude_stage(stage_context& c, settle_stage& to) : context_(c), settle_(to), ages_(c) {}

    ages& its_ages() { return ages_; }

    /// A handler has ended, or never began.
    void ended(finished&&, tick now);

    /// A message that arrived unreadable, and ran never.
    void damaged(held_ptr, failure const&, tick now);

    /// A message whose group has lost one that stands before it, perhaps.
    void blind(held_ptr h, tick now) { conclude(std::move(h), meaning(), now); }

    /// Carries out what an event asks for, our own part at once, and leaves notice of the rest.
    void carry_out(held_ptr const&, message_life::actions, tick now);

    /// Our own part of it.
    void heed(held_ptr const&, message_life::actions, tick now);

    // Ways of a message that did not fail.
    void give_back(held_ptr h, tick now) { postpone(std::move(h), {}, now); }
    void stand_back(held_ptr, gate::answer const&, tick now); ///< goes back
    void wait_here(held_ptr, tick now);

    // FIFO queues.
    void add_to_group(held_ptr h) { groups_.add(std::move(h)); }
    std::vector<held_ptr> heads() { return groups_.runnable(); }
    std::optional<tick> give_back_forsaken(tick now); ///< says when there will be more
    void begin_drain(tick now);                       ///< what has not begun goes back

    /// Places of max_in_flight that are taken. Of a group only the first message takes one: those behind it cannot
    /// begin before it has ended, and SQS gives ten of a group at the most until they are gone.
    std::size_t places_taken() const
    {
        return context_.in_flight.size() - std::min(groups_.tails(), 9 * context_.limits.max_in_flight);
    }

private:
    void try_after_its_destruction(held_ptr, tick now);
    void ended_after_ack(held_ptr const&, finished const&, tick now);
    meaning meaning_of_end(held const&, finished&&);
    void note(held const&, meaning const&, std::optional<std::chrono::milliseconds> again, tick now);
    void note_last_receive(held const&, outcome const&, tick now);
    gate::answer tell_gate(held const&, gate::news const&, tick now);
    void conclude(held_ptr, meaning const&, tick now, gate::answer const& from_gate = {});
    void reject(held_ptr, std::string reason, bool is_kept, tick now);
    circumstances circumstances_of(held const&);
    void postpone(
        held_ptr, std::chrono::milliseconds delay, tick now, bool waits_for_head = false, bool in_outage = false);
    void note_spilled(held const&, tick now);
    bool has_places_for_tails() const;
    void give_back_tail(held const&, tick now, bool in_outage = false);

    stage_context& context_;
    settle_stage& settle_;
    given_back given_back_;
    ages ages_;
    fifo_groups groups_;
};

} // namespace quern::detail
