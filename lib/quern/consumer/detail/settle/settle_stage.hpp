#pragma once

#include <quern/consumer/detail/settle/settle_queue.hpp>
#include <quern/consumer/detail/stage_context.hpp>

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

    explicit settle_stage(stage_context&);

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
    void asked(held_ptr, delivery::wish, reply);

    /// Sends what is due; a request that is not full only when it has waited, or no `more_to_come`. Says when time
    /// alone will make more due.
    std::optional<tick> turn(tick now, bool more_to_come);

    /// Ends what handlers wait for: nobody will answer any more. A handler that went on waiting would keep the
    /// context alive, which keeps what the handler waits for.
    void forget_asks();

private:
    void asked_for(delivery::delete_now, held_ptr, reply);
    void asked_for(std::chrono::seconds at_least, held_ptr, reply);
    void asked_for(std::shared_ptr<lease_guard>, held_ptr, reply);
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

    bool only_changes() const { return calls_ - change_calls_ + 1 >= context_.options.settle.max_calls; }

    stage_context& context_;
    settle_queue queue_;
    std::vector<held_ptr> kept_back_; // to be released once no receive of ours is open
    std::size_t calls_ = 0;           // under way
    std::size_t change_calls_ = 0;    // of these, changes of visibility
};

} // namespace quern::detail
