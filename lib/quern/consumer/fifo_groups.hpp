#pragma once

#include <quern/consumer/ledger.hpp>

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace quern {

/// The order of a FIFO queue: of each message group one message at a time, in the order of sending, however many
/// receives bring the group. Groups run side by side.
///
/// SQS brings a group's messages together and keeps the rest of the group back while any of them is hidden. So when a
/// head fails, those behind it here must be given back: visible but behind a hidden head, they wait in the queue
/// instead of here, and nobody can overtake it.
class fifo_groups {
public:
    /// Stands in line, by sequence number, behind the message of its group that runs.
    void add(held_ptr);

    /// The heads that may run now; each is named once, and runs until it leaves.
    std::vector<held_ptr> runnable();

    /// Takes away those behind it, to be given back: it failed, or its lease is lost.
    std::vector<held_ptr> take_tail(held const&);

    /// It has ended, or will not run: the next of its group may. Nothing happens when it left before.
    void leave(held const&);

    /// Takes away everything that does not run, to be given back.
    std::vector<held_ptr> take_waiting();

private:
    struct group {
        std::deque<held_ptr> line; // the head first
        bool running = false;      // the head
        bool listed = false;       // in ready_
    };

    void list(std::string const& name, group&);

    std::unordered_map<std::string, group> groups_; // none is empty
    std::vector<std::string> ready_;                // may have a head to run
};

} // namespace quern
