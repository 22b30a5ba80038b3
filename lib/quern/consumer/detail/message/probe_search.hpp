#pragma once

#include <quern/core/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace quern::detail {

/// The rule of who probes while a dependency is half open, and for how long another one is sought for that.
///
/// A message that has not found it down comes first, for two seconds: old ones that always find it down must not hide
/// that others would find it up. A message that probed in vain waits thirty seconds for others. But a message that
/// comes and may not probe yet goes back at the price of a receive. A search therefore ends after ten of these. Where
/// there is little hope (twelve such probes in vain and none well, or none was to be found) only every fourth
/// half-open phase begins with a search: in the others a message probes that waits here, which costs nothing.
///
/// Once three such wait, who probe in turn, it is every sixteenth, if the last search cost a receive: all three are
/// hardly at fault themselves. A search to which nobody came cost nothing, and the next one lasts twice as long, up
/// to two minutes: other consumers may receive most of what is sent.
///
/// All this is for where one probe decides: where some messages are always unavailable it takes several, of different
/// messages, and only a search without an end finds those that would find it up.
///
/// A message is a number that stands for it. Threads  one strand.
class probe_search {
public:
    void outage_begins()
    {
        in_vain_ = 0;
        barren_ = false;
        was_dear_ = false;
        turn_ = turn_of_others;
    }
    static constexpr std::size_t most_to_wait = 3; ///< of those that probed in vain

    /// `waiting`  so many that probed in vain wait here.
    void half_opens(tick now, bool one_probe_decides, std::size_t waiting);
    void went_well() { outage_begins(); } ///< a probe: should it go down again, that is another outage
    void forget() { found_down_.clear(); }
    void all_is_well(tick now); ///< up, and a handler says so

    void begins(std::uint64_t who); ///< to probe
    void ended(tick now);           ///< a probe
    void found_down(std::uint64_t who, bool as_probe, tick now);
    void came_too_early() { ++too_early_; }

    /// It may probe from then on, if it is half open. `found_down`: it has, in this outage or one before.
    tick turn_of(std::uint64_t who, bool found_down = false) const;

    /// Half open, and no other message is wanted now; until then.
    bool rests(tick now) const;
    tick rests_until() const { return quiet_since_ + turn_of_fresh; }

    /// One that probed in vain had better wait here to do it again.
    bool is_hopeless() const { return one_decides_ && (in_vain_ >= enough_in_vain || barren_); }

    /// Half open, and no probe has ended since.
    tick quiet_since() const { return quiet_since_; }

private:
    /// Times for which a probe that was in vain leaves the next to others, and one that found it down before to those
    /// that have not.
    static constexpr tick::duration turn_of_others = std::chrono::seconds(30),
                                    turn_of_fresh = std::chrono::seconds(2), longest_turn = std::chrono::minutes(2);

    /// Were it half of all messages that need something that is up, so many in a row would be chance once in 4,096
    /// outages.
    static constexpr std::size_t enough_in_vain = 12;

    static constexpr int turns_to_a_search = 4, turns_where_enough_wait = 16;
    static constexpr int most_too_early = 10; // as many as a receive brings
    static constexpr std::size_t most_remembered = 1'024;

    /// Every message that found it down has come again by then.
    static constexpr tick::duration longest_memory = std::chrono::minutes(15);

    tick quiet_since_{};
    std::unordered_map<std::uint64_t, bool> found_down_; // in this outage, or shortly before; true: as probes
    tick last_found_down_{};
    bool one_decides_ = true;
    bool searches_ = true;     // half open: for one that is not among these
    bool tries_again_ = false; // it searches although there is little hope
    bool was_dear_ = false;    // the last of these searches: it cost receives
    tick::duration turn_ = turn_of_others;
    int too_early_ = 0;       // half open: so many came
    bool barren_ = false;     // the last probe was among these before it began
    int turns_ = 0;           // half open and hopeless
    std::size_t in_vain_ = 0; // probes that were not, since the last one that went well
};

} // namespace quern::detail
