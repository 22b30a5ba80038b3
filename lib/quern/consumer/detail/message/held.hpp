#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/consumer/detail/message/message_life.hpp>
#include <quern/core/detail/compact_strand.hpp>
#include <quern/core/error.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <boost/intrusive/options.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::detail {

struct tenant_in_turn;

/// A place in the lease book, and one among the running handlers: gone with the message.
using lease_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<class lease_book>,
    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
using run_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<class run_limit>,
    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// One call of a handler, with one message or with a batch.
struct handler_run {
    boost::asio::cancellation_signal cancel; ///< emit on the strand below
    compact_strand on;
    std::uint32_t messages, told = 0; ///< of a batch, the handler is cancelled when all its messages were told to end

    handler_run(compact_strand where, std::size_t how_many)
        : on(std::move(where)), messages(static_cast<std::uint32_t>(how_many))
    {}
};

/// A call with several messages, which ends when the last of them has come home.
struct batch_run : handler_run {
    using handler_run::handler_run;

    std::uint32_t away = messages;
};

/// Asks that a handler awaits while it runs.
struct handler_asks {
    using answers = std::vector<delivery::keeper::reply>;

    answers deletes;
    std::chrono::seconds lease{}; ///< wanted, and not confirmed yet
    tick lease_until{};           ///< and until when at least
    answers extensions;
    std::shared_ptr<lease_guard> guard; ///< while the handler runs; null: none
    tick covered{};                     ///< how far the guard has agreed to
    bool guard_at_work = false;
};

/// Answer of one receive. Its messages are views into one storage, which lasts until the last of them is gone.
struct answer {
    std::shared_ptr<std::byte[]> storage;
    tick received_at;
    std::size_t bytes = 0;   ///< of all its messages, see bytes_of()
    std::size_t entries = 0; ///< of the ledger
};

/// Turn of a handler that was posted to where it runs: whoever changes this first has the say. A message that an
/// outage has kept may wait once more while its former turn, called off, has not come up yet; so each has a number.
///
/// Threads  any; wait() before the turn is posted.
class handler_turn {
public:
    using number = std::uint16_t;

    /// It waits for a turn, whose number this is.
    number wait()
    {
        now_ = static_cast<number>((now_ & ~how) + next);
        return now_;
    }

    /// It begins now. False when that turn was called off.
    bool begin(number turn) { return leave(turn, begun); }

    /// It never begins: the drain wants its message back, the lease is lost, or what it needs is down. False when it
    /// has begun.
    bool call_off() { return call_off(static_cast<number>(now_ & ~how)); }
    bool call_off(number turn) { return leave(turn, called_off); }

    bool waits(number turn) const { return now_ == turn; }
    bool is_waiting() const { return (now_ & how) == 0; }
    bool has_begun() const { return (now_ & how) == begun; }
    bool is_called_off() const { return (now_ & how) == called_off; }

private:
    static constexpr number begun = 1, called_off = 2, how = 3, next = 4;

    bool leave(number turn, number to) { return now_.compare_exchange_strong(turn, static_cast<number>(turn | to)); }

    std::atomic<number> now_{0};
};

/// A message that this consumer holds, from its receive until its settlement is confirmed. A hundred thousand of them
/// may wait in their handlers: what few of them need stands apart.
struct held : boost::intrusive_ref_counter<held>, lease_hook, run_hook {
    held(sqs::message m, std::shared_ptr<std::byte[]> from, clock const& time, tick now)
        : message(std::move(m), std::move(from), time), handle(message.message().receipt_handle), received_at(now),
          receive_count(message.receive_count())
    {}

    /// State that only a message in trouble has.
    struct trouble {
        std::string reason;            ///< of its rejection
        std::optional<failure> damage; ///< it arrived unreadable: no handler can run
        tick waits_since{};            ///< here, for better times
    };
    trouble& in_trouble()
    {
        if (!rare) rare = std::make_unique<trouble>();
        return *rare;
    }

    /// Values of `ended_at` before the observer has been told of an end, or of a begin.
    static constexpr tick running = tick::max(), not_begun = tick::min();

    failure const* damage() const { return rare && rare->damage ? &*rare->damage : nullptr; }

    handler_asks& asking()
    {
        if (!asks) asks = std::make_unique<handler_asks>();
        return *asks;
    }

    delivery message;
    std::size_t id_hash = 0;                ///< for the ledger
    std::uint64_t number = 0;               ///< in the order in which they came into the ledger
    std::string_view handle;                ///< the newest: SQS accepts an older one without deleting anything
    std::unique_ptr<char[]> handle_storage; ///< of one that was adopted
    tick received_at;                       ///< of the newest handle
    int receive_count;                      ///< of the newest handle
    int handles = 0;                        ///< that took the place of an earlier one
    int extensions = 0;                     ///< asked for; only the newest is worth sending
    std::int32_t queued_ms = -1;            ///< sent -> received; -1: not known, or nobody wants to know
    tick ended_at = not_begun;              ///< of its handler, where there is an observer
    std::chrono::seconds postponed{};       ///< of the postpone that waits for an extension's answer, or is confirmed
    std::unique_ptr<trouble> rare;
    std::string key;                    ///< what it belongs to, see outage_options::dependency
    tick began_at{};                    ///< of its handler, as the gate has let it pass
    tick started_at{};                  ///< likewise, as that tells or as we hear of it
    std::shared_ptr<handler_run> run;   ///< while a coroutine handles it
    std::unique_ptr<handler_asks> asks; ///< null: nothing yet
    std::shared_ptr<answer> came_in;    ///< null in tests: then it counts for nothing
    bool is_named = false;              ///< somebody has asked for its key
    tenant_in_turn* in_turn = nullptr;  ///< while it counts among those that run
    handler_turn turn;
    message_life life;
};
using held_ptr = boost::intrusive_ptr<held>;

template <class... Arguments>
held_ptr make_held(Arguments&&... arguments)
{
    return held_ptr(new held(std::forward<Arguments>(arguments)...));
}

} // namespace quern::detail
