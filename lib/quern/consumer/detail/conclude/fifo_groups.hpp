#pragma once

#include <quern/consumer/detail/message/ledger.hpp>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace quern::detail {

/// The order of a FIFO queue: of each message group one message at a time, in the order of sending, however many
/// receives bring the group. Groups run side by side.
///
/// SQS brings a group's messages together, and keeps back whatever stands behind one that is hidden, not what stands
/// before it. So those behind a failed head may wait in two places, and nobody can overtake it: in the queue, visible
/// but behind a hidden head; or here, hidden, until the head is received again. The first costs each of them a
/// receive for every try of the head, and with those the redrive policy sends a whole group to the dead-letter queue
/// that never ran. So after a short pause of the head they wait here; but another consumer may receive it, then they
/// are given back. Where the head was on its last receive, the dead-letter queue takes it, and they go on.
class fifo_groups {
public:
    /// Stands in line, by sequence number, behind the message of its group that runs.
    void add(held_ptr);

    /// The heads that may run now; each is named once, and runs until it leaves.
    std::vector<held_ptr> runnable();

    /// It failed, leaves, and will be received again: those behind it wait for that until then. Where it is dead by
    /// then they go on.
    enum class head { returns, dies };
    void await(held const&, tick until, head);

    /// Takes the messages that have waited in vain, to be given back.
    std::vector<held_ptr> take_forsaken(tick now);

    /// When there will be some.
    std::optional<tick> wake_at() const;

    /// Takes away those behind it, to be given back: it failed, or its lease is lost.
    std::vector<held_ptr> take_tail(held const&);

    /// It has ended, or will not run: the next of its group may. Nothing happens when it left before.
    void leave(held const&);

    /// Takes away everything that does not run, to be given back.
    std::vector<held_ptr> take_waiting();

    /// Messages that stand behind the first of their group.
    std::size_t tails() const { return size_ - groups_.size(); }

private:
    struct group {
        std::deque<held_ptr> line; // the head first
        bool running = false;      // the head
        bool listed = false;       // in ready_
        std::string awaited;       // id of the head that failed
        tick until{};              // the end of waiting for it
        head awaited_one{};
    };

    void list(std::string const& name, group&);

    std::unordered_map<std::string, group> groups_; // none is empty
    std::size_t size_ = 0;                          // messages in them
    std::vector<std::string> ready_;                // may have a head to run
    std::multimap<tick, std::string> waits_;        // by `until`; some are over already
};

} // namespace quern::detail
