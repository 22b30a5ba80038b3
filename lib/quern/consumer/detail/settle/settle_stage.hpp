#pragma once

#include <quern/consumer/detail/line.hpp>
#include <quern/consumer/detail/settle/settle_queue.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace quern::detail {

/// The last stage: SQS is told what became of each message, until it confirms. Answers what handlers ask for
/// meanwhile.
class settle_stage {
public:
    using reply = delivery::keeper::reply;

    explicit settle_stage(line&);

    /// The verdict, for a message that is waiting, gathering or ended.
    void remove(held_ptr, tick now);                                   ///< done: delete it
    void hand_off(held_ptr, std::string reason, tick now);             ///< to the poison queue
    void discard(held_ptr, std::string reason, tick now);              ///< rejected, and there is no poison queue
    void postpone(held_ptr, tick now, std::chrono::milliseconds = {}); ///< visible again, at once by default

    /// Asks for more time, from the moment of sending.
    void extend(held_ptr, std::chrono::seconds timeout, tick now);

    /// Deletes it although its handler runs.
    void remove_early(held_ptr, tick now);

    /// A handler asks, while it runs; see delivery::ack() and delivery::extend().
    void delete_asked(held_ptr, reply);
    void extend_asked(held_ptr, std::chrono::seconds at_least, reply);
    void guard_asked(held_ptr, std::shared_ptr<lease_guard>, reply);

    /// Sends what is due; a request that is not full only when it has waited, or no `more_to_come`. Says when time
    /// alone will make more due.
    std::optional<tick> turn(tick now, bool more_to_come);

    /// Nobody will answer any more: a handler that went on waiting would keep alive the line that keeps what it waits
    /// for.
    void forget_asks();

private:
    void extend_as_asked(held_ptr const&, tick now);
    void extended(held_ptr const&, std::chrono::seconds timeout, tick now);
    boost::asio::awaitable<void> extend_as_agreed(held_ptr, std::chrono::seconds timeout);

    void queue(held_ptr, settlement::purpose, tick now, std::chrono::seconds timeout = {});
    boost::asio::awaitable<void> send_deletes(std::vector<settlement>);
    boost::asio::awaitable<void> send_changes(std::vector<settlement>);
    boost::asio::awaitable<void> send_copies(std::vector<settlement>);
    void returned();

    void answered(settlement, result<void> const&, tick sent_at, tick time);
    void extension_answered(settlement, settled, tick sent_at, tick time);

    bool only_changes() const { return calls_ - change_calls_ + 1 >= line_.options.settle.max_calls; }

    line& line_;
    settle_queue queue_;
    std::vector<held_ptr> kept_back_; // to be released once no receive of ours is open
    std::size_t calls_ = 0;           // under way
    std::size_t change_calls_ = 0;    // of these, changes of visibility
};

} // namespace quern::detail
