#pragma once

#include <quern/consumer/detail/conclude/ages.hpp>
#include <quern/consumer/detail/conclude/fifo_groups.hpp>
#include <quern/consumer/detail/conclude/finished.hpp>
#include <quern/consumer/detail/conclude/given_back.hpp>
#include <quern/consumer/detail/conclude/verdict.hpp>
#include <quern/consumer/detail/line.hpp>
#include <quern/consumer/gate.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace quern::detail {

class settle_stage;

/// Concludes from the end of a handler: the verdict, and what follows from it for the message and those behind it in
/// its group.
class conclude_stage {
public:
    conclude_stage(line& l, settle_stage& to) : line_(l), settle_(to), ages_(l) {}

    ages& its_ages() { return ages_; }

    /// A handler has ended, or never began.
    void ended(finished&&, tick now);

    /// A message that arrived unreadable, and ran never.
    void damaged(held_ptr, failure const&, tick now);

    /// A message whose group has lost one that stands before it, perhaps.
    void blind(held_ptr h, tick now) { conclude(std::move(h), retry(), now); }

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

private:
    void try_after_its_destruction(held_ptr, tick now);
    void ended_after_ack(held_ptr const&, finished const&, tick now);
    meaning meaning_of_end(held const&, finished&&);
    void note(held const&, meaning const&, tick now);
    gate::answer tell_gate(held const&, gate::news const&, tick now);
    void conclude(held_ptr, outcome const&, tick now, gate::answer const& where = {}, bool malformed = false);
    void reject(held_ptr, std::string reason, tick now);
    circumstances circumstances_of(held const&);
    void postpone(
        held_ptr, std::chrono::milliseconds delay, tick now, bool waits_for_head = false, bool in_outage = false);
    void note_spilled(held const&, tick now);
    bool has_places_for_tails() const;
    void give_back_tail(held const&, tick now, bool in_outage = false);

    line& line_;
    settle_stage& settle_;
    given_back given_back_;
    ages ages_;
    fifo_groups groups_;
};

} // namespace quern::detail
