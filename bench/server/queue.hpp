#pragma once

#include "arrivals.hpp"
#include "hidden_messages.hpp"

#include <deque>
#include <set>

namespace yardstick {

/// A message as it is handed out.
struct handed {
    ticket handle;
    micros due = 0; ///< 0: handed out before measuring began
    micros first_received = 0;
    std::uint32_t group = 0;
};

/// The result of a request about a message.
enum class fate {
    done,
    repeated, ///< it was deleted before; SQS says yes to that
    stale,    ///< received again since, by another handle; SQS says yes to that too, and deletes nothing
    unknown,  ///< no such handle was ever given
};

/// The queue: pure decisions, the time comes with each call.
///
/// Standard: what came back first, then what is due. FIFO: message n is of group n modulo G; as many of a group at
/// once as fit, and a group is locked while any of its messages is hidden.
class queue {
public:
    explicit queue(options const& what);

    /// Messages get a due time from now on, those of a schedule are counted from now on. A rehearsal ends instead:
    /// what is left of it is not to be measured, so that takes a second call.
    void measure(micros now);
    /// The schedule begins, if it did not yet.
    void wake(micros now);

    /// Appends at most `max` messages, hidden for `visibility`, to `out`.
    void take(std::size_t max, micros visibility, micros now, std::vector<handed>& out);

    /// Deletes; `due` is when the message was due, if it is the first delete of a measured one, else 0.
    fate remove(ticket const& which, micros& due);

    /// Hides for so long from now on; 0 shows at once.
    fate change(ticket const& which, micros visibility, micros now);

    /// Shows again what has been hidden long enough; how many that were.
    std::size_t expire(micros now);

    /// When a take() that finds nothing now might find something.
    std::optional<micros> next(micros now) const;

    std::size_t in_flight() const { return hidden_.size(); }
    /// For how long the oldest due message has been waiting for a receive.
    micros behind(micros now) const;

private:
    struct group {
        std::set<std::pair<std::uint64_t, std::uint32_t>> returned; // by number: the order of the group
        std::uint64_t taken = 0;                                    // new ones
        std::uint32_t hidden = 0;
        bool ready = false; // stands in ready_
    };

    bool is_fifo() const { return !groups_.empty(); }
    void take_standard(std::size_t max, micros visibility, micros now, std::vector<handed>& out);
    void take_fifo(std::size_t max, micros visibility, micros now, std::vector<handed>& out);
    handed hand_out(std::uint32_t at, micros visibility, micros now);
    std::optional<handed> hand_out_new(std::uint64_t number, std::uint32_t of, micros visibility, micros now);
    void came_back(std::uint32_t at);
    void unhidden(std::uint32_t of);

    options const what_;
    arrivals arrivals_;
    hidden_messages hidden_;
    std::deque<std::uint32_t> returned_; // standard
    std::vector<group> groups_;
    std::deque<std::uint32_t> ready_; // groups that are not locked
    std::uint64_t next_number_ = 0;   // standard
    bool measured_ = false;
    bool awake_ = false;
};

} // namespace yardstick
