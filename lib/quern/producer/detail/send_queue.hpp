#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/detail/ask.hpp>
#include <quern/producer/detail/send_calls.hpp>
#include <quern/producer/explanation.hpp>
#include <quern/producer/options.hpp>
#include <quern/sqs/types.hpp>

#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace quern::detail {

/// One message on its way out.
struct outgoing {
    enum class place {
        outside,   ///< the buffer has no room for it yet
        behind,    ///< FIFO: an earlier message of its group is not done
        ready,     ///< for the next request
        later,     ///< for a request after again_at
        under_way, ///< in a request
        gone,      ///< done
    };

    explicit outgoing(sqs::send_message_entry what) : entry(std::move(what)) {}

    sqs::send_message_entry entry;
    asker<result<sqs::send_message_response>> sender; ///< empty once told

    // The queue's own.
    std::size_t size = 0;
    std::uint64_t number = std::numeric_limits<std::uint64_t>::max(); ///< in the order of sending
    place at = place::outside;
    bool wanted = true; ///< its sender still waits
    int attempts = 0;
    tick came_at{};
    tick give_up_at{};
    tick ready_at{};
    tick again_at{};
};
using outgoing_ptr = std::shared_ptr<outgoing>;

/// The producer's rule: which messages share a request, when it goes, and what is tried again.
///
/// A request goes when it is full (10 messages, or 1 MiB), when no other is under way, or when its oldest message has
/// been ready for `linger`. What failed comes back after a pause, the same for all of a request that were tried as
/// often, unless trying again cannot help or the message's time is up.
///
/// FIFO queues: only the first message of a group can be taken, until it is done, so that a failure of one never lets
/// a later one pass. With gather_groups those behind it come along.
class send_queue {
public:
    send_queue(producer_options const&, bool fifo, std::uint64_t seed);

    /// Into the buffer, or the line in front of it.
    void add(outgoing_ptr, tick now);

    /// Messages of the next request that should go now; none: no request.
    std::vector<outgoing_ptr> take(tick now);

    /// A message of a request is confirmed, or has failed; `may_help`: to try it again. True when it is done, false
    /// when it will be tried again.
    bool answered(outgoing_ptr const&, bool may_help, tick now);

    /// A request of so many messages has ended, and each of them has been answered() just now.
    void returned(policy::call_end, tick::duration took, std::size_t messages, tick now);

    /// Its sender does not wait any more: forgets the message, or, when it is under way, does not try it again.
    void withdraw(outgoing_ptr const&, tick now);

    /// Takes out what has waited too long.
    std::vector<outgoing_ptr> expired(tick now);

    /// Lets go all that is here, without waiting for company.
    void hurry() { hurried_ = next_number_; }

    /// Takes out all that is not under way; nothing is tried again from now on.
    std::vector<outgoing_ptr> stop(tick now);

    /// All but the last problem.
    producer_explanation explain() const;

    /// When take() or expired() has something new although nothing else happened.
    std::optional<tick> wake_at();

    std::vector<outgoing_ptr> under_way() const;
    bool empty() const { return waiting_.empty() && under_way_.empty(); }

    /// For passed(): after all that is here.
    std::uint64_t mark() const { return next_number_; }
    /// All that was added before the mark is done.
    bool passed(std::uint64_t mark) const;

private:
    using line = std::map<std::uint64_t, outgoing_ptr>; // by number

    void admit(tick now);
    void schedule(outgoing_ptr const&, tick now);
    void advance(std::string const& name, tick now);
    void remove(outgoing_ptr const&, tick now);
    bool is_full_request_ready() const { return ready_.size() >= sqs::max_batch_entries; }
    producer_explanation::bound bound_of(producer_explanation const&) const;

    producer_options const options_;
    bool const fifo_;
    std::mt19937_64 random_;

    line waiting_; // all that is not under way
    line under_way_;

    // Of those waiting:
    line outside_;                                                 // the buffer has no room
    std::map<std::pair<tick, std::uint64_t>, outgoing_ptr> ready_; // by ready_at and number
    std::multimap<tick, outgoing_ptr> later_;                      // by again_at; some are gone

    // FIFO, by group: what is under way, then what is to come. Behind the first, some are gone.
    std::unordered_map<std::string, std::deque<outgoing_ptr>> groups_;

    send_calls calls_;
    std::size_t held_ = 0, held_bytes_ = 0; // in the buffer, or under way
    std::uint64_t next_number_ = 0;
    std::uint64_t hurried_ = 0; // numbers below it do not linger
    bool stopped_ = false;
};

} // namespace quern::detail
