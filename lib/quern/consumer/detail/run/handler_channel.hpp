#pragma once

#include <quern/consumer/detail/conclude/finished.hpp>
#include <quern/consumer/handler.hpp>
#include <quern/consumer/outcome.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/detail/compact_strand.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace quern::detail {

/// Keeper on the strand, whom handlers reach through the channel.
class channel_keeper {
public:
    using reply = delivery::keeper::reply;

    virtual void welcome() = 0;  ///< handlers have ended: take() them
    virtual void no_place() = 0; ///< no handler can run any more: the context of handler_executor has ended
    virtual void has_begun(held_ptr) = 0;
    virtual void asked(held_ptr, delivery::wish, reply) = 0;

protected:
    ~channel_keeper() = default;
};

/// The handlers' function, and their way back to the strand from whatever threads they run on. Those that end at
/// about the same time are fetched together.
///
/// A handler may outlive the pipeline, and the context with it: once closed, the channel drops what comes home and
/// refuses what is asked. A handler that runs keeps the channel alive, and nothing else; one that waits for a thread
/// keeps nothing.
///
/// Threads  any.
class handler_channel final : public delivery::keeper, public std::enable_shared_from_this<handler_channel> {
public:
    explicit handler_channel(handlers given) : handle(std::move(given)) {}

    /// Opens it, for as long as `owner` lives, which owns `who`.
    void open(compact_strand to, std::weak_ptr<void> owner, channel_keeper& who);

    /// Nothing is posted to the strand from now on, and no handler begins: its context ends.
    void close();
    bool is_open() const { return open_.load(std::memory_order_relaxed); }

    /// On the thread of a handler that is about to begin: whether it may. Not when its turn has been called off,
    /// perhaps long ago, and its message with it; nor when nothing is left of its lease: then it comes home from
    /// here. `tells`: by whose time has_begun() hears of it; null: it need not.
    bool lets_begin(held_ptr const&, handler_turn::number, tick::duration left, clock const* tells);

    void come_home(finished);
    void context_is_gone();
    void ask(held&, delivery::wish, reply) override;
    boost::asio::any_io_executor get_executor() const override;

    /// Swaps what has come home, in its order, into an empty vector.
    void take(std::vector<finished>& into);

    handlers const handle;

private:
    void note_begun(held_ptr);
    template <class Call>
    void post(Call call);

    std::mutex mutable mutex_;
    std::optional<compact_strand> to_; // absent: closed
    std::atomic<bool> open_{false};    // the same, without the lock
    std::weak_ptr<void> owner_;
    channel_keeper* who_ = nullptr;
    std::vector<finished> home_;
    bool expected_ = false; // welcome() will come for them
};

} // namespace quern::detail
