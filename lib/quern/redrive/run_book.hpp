#pragma once

#include <quern/redrive/event.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace quern::redrive {

/// Where a message of a run is.
enum class stage {
    unseen,  ///< or forgotten
    planned, ///< to be sent or isolated
    waiting, ///< likewise, and not due
    sending, ///< the request is under way
    unknown, ///< it was under way when the process ended: it may have been sent
    sent,    ///< and not known to be deleted
    done,    ///< sent and deleted
    left,    ///< it stays: skipped, or for a reason
};
std::string_view name_of(stage);

/// Where each message of a run is and what was counted, as a state machine of its events. What may follow what stands
/// in two tables, in the source; docs/design/redrive.md explains them.
class run_book {
public:
    enum class phase { none, running, succeeded, stopped, cancelled };

    struct entry {
        stage where = stage::unseen;
        bool isolated = false; ///< on its way to the poison queue
        int attempt = 0;
        bool maybe_sent = false; ///< a send may have been done, and none is confirmed: it has its place in the limit
        bool in_doubt = false;   ///< likewise, and no second one was counted yet
        wall_time due{};
        wall_time hidden_until{}; ///< or when it was let go, see expect()
        wall_time sending_at{};   ///< the send in doubt, or the last one
        std::uint64_t last = 0;   ///< event of the message
        bool skipped = false;
        std::string queue, reason, key;
        std::string handle; ///< of the receive since which it waits

        bool is_open() const { return where != stage::unseen && where != stage::done && where != stage::left; }
        bool is_unknown() const; ///< nobody knows whether a send of it was done
        bool waits() const { return where == stage::waiting || where == stage::unknown; }
    };

    struct tally {
        std::size_t redriven = 0, isolated = 0, deleted = 0, skipped = 0, left = 0;
        std::size_t failures = 0;
        std::size_t maybe_twice = 0; ///< sends that may have made a second copy
        std::size_t waiting = 0, unknown = 0, maybe_sent = 0, undeleted = 0, planned = 0;
    };

    /// `most_done`: how many messages that are done it knows; the earlier ones are only counted. 0: neither does it
    /// know those that are left, unless one is in doubt.
    explicit run_book(std::size_t most_done = std::numeric_limits<std::size_t>::max()) : most_done_(most_done) {}

    /// Fails, and is unchanged, when the event cannot follow those before it.
    [[nodiscard]] result<void> apply(event const&);

    phase now() const { return phase_; }
    event const& start() const { return start_; } ///< once it has begun
    std::uint64_t last_id() const { return last_id_; }
    std::uint64_t last_of(std::string const& message) const; ///< event; of the run when empty
    wall_time last_at() const { return last_at_; }
    std::string const& ended_because() const { return reason_; }

    std::unordered_map<std::string, entry> const& messages() const { return messages_; }
    entry const& of(std::string_view id) const; ///< an empty one where it knows none
    tally counts() const;
    bool has_undeleted() const { return redriven_ + isolated_ != deleted_; }
    std::map<std::string, std::size_t> redriven_to() const { return by_queue_; }
    int counted(std::string_view id) const; ///< attempts of a message that has no room for them; 0: none is known

    /// Receipt handles of the messages that are hidden while they wait, by id.
    std::unordered_map<std::string, std::string> hidden(wall_time now) const;

    /// No event: a message on its way was let go at `at`, and comes again. Whatever becomes of it ends that.
    void expect(std::string_view id, wall_time at);

    /// Whether a message waits that can be received later than `now`, or was let go later.
    bool awaits(wall_time now) const { return !awaited_.empty() && *awaited_.rbegin() > now; }

private:
    [[nodiscard]] result<void> apply_to_run(event const&);
    [[nodiscard]] result<void> apply_to_message(event const&);
    void change(entry&, event const&);
    void keep(std::string const& id, entry now);

    phase phase_ = phase::none;
    event start_;
    std::uint64_t last_id_ = 0, last_of_run_ = 0;
    wall_time last_at_{};
    std::string reason_;
    std::size_t most_done_;
    std::unordered_map<std::string, entry> messages_;
    std::deque<std::string> done_;     // in this order
    std::multiset<wall_time> awaited_; // when those that wait can be received
    std::map<std::string, std::size_t> by_queue_;
    std::map<std::string, int, std::less<>> counted_; // by the id that the next queue gave, which a move by SQS keeps
    std::size_t redriven_ = 0, isolated_ = 0, deleted_ = 0, failures_ = 0, maybe_twice_ = 0;
};

/// "running"
std::string_view name_of(run_book::phase);

/// Reads a journal's text. `torn`, where given, receives the bytes of the unfinished write at its end.
[[nodiscard]] result<run_book> read_journal(std::string_view text, std::size_t* torn = nullptr);

} // namespace quern::redrive
