#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/core/compact_strand.hpp>
#include <quern/core/error.hpp>
#include <quern/policy/breaker.hpp>
#include <quern/telemetry/counter.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace quern {

/// A place in the lease book, and one among the running handlers: gone with the message.
using lease_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<class lease_book>,
    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
using run_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<class run_limit>,
    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// One call of a handler, with one message or with a batch.
struct handler_run {
    boost::asio::cancellation_signal cancel; ///< emit on the strand below
    compact_strand on;
    std::uint32_t messages, told = 0; ///< of a batch, the handler is cancelled when all its messages say so

    handler_run(compact_strand where, std::size_t how_many)
        : on(std::move(where)), messages(static_cast<std::uint32_t>(how_many))
    {}
};

/// What a handler has asked for while it runs.
struct handler_asks {
    using answers = std::vector<delivery::keeper::reply>;

    enum class deletion {
        none,
        asked,
        confirmed,
        again, ///< confirmed, and asked once more for a copy that was received since
    };
    bool deleted() const { return ack == deletion::confirmed || ack == deletion::again; }

    deletion ack = deletion::none;
    answers acks;
    std::chrono::seconds lease{}; ///< wanted, and not confirmed yet
    answers extensions;
};

/// What one receive brought. Its messages are views into one storage, which lasts until the last of them is gone.
struct answer {
    std::shared_ptr<std::byte[]> storage;
    tick received_at;
    std::size_t bytes = 0;   ///< of all its messages, see bytes_of()
    std::size_t entries = 0; ///< of the ledger
};

/// A message that this consumer holds, from its receive until its settlement is confirmed. A hundred thousand of them may
/// wait in their handlers: what few of them need stands apart.
struct held : boost::intrusive_ref_counter<held>, lease_hook, run_hook {
    enum class stage : unsigned char {
        waiting,
        gathering, ///< for a batch
        running,
        settling,
        gone,
    };

    held(sqs::message m, std::shared_ptr<std::byte[]> from, clock const& time, tick now)
        : message(std::move(m), std::move(from), time), handle(message.message().receipt_handle), received_at(now),
          receive_count(message.receive_count())
    {}

    /// Of a handler that was posted to where it runs: whoever changes this first has the say.
    enum class turn : unsigned char {
        waits,
        begun,
        called_off, ///< never begins: the drain wants its message back, or the lease is lost
    };
    bool begin() { return leave_queue(turn::begun); }
    bool call_off() { return leave_queue(turn::called_off); }
    bool has_begun() const { return its_turn == turn::begun; }
    bool is_called_off() const { return its_turn == turn::called_off; }

    delivery message;
    std::string_view handle;                       ///< the newest: SQS accepts an older one without deleting anything
    std::unique_ptr<char[]> handle_storage;        ///< of one that was adopted
    tick received_at;                              ///< of the newest handle
    int receive_count;                             ///< of the newest handle
    int handles = 0;                               ///< that took the place of an earlier one
    int extensions = 0;                            ///< asked for; only the newest is worth sending
    std::optional<std::chrono::seconds> postponed; ///< the postpone that waits for an extension's answer
    std::unique_ptr<std::string> reason;           ///< of the rejection
    policy::breaker::ticket ticket{};              ///< of its handler's start
    std::unique_ptr<failure> damage;               ///< it arrived unreadable: no handler can run
    tick started_at{};                             ///< of its handler
    std::shared_ptr<handler_run> run;              ///< while a coroutine handles it
    std::unique_ptr<handler_asks> asks;            ///< null: nothing yet
    std::shared_ptr<answer> came_in;               ///< null in tests: then it counts for nothing

    // Side by side, so that they take eleven bytes.
    stage at = stage::waiting;
    bool extending = false;   ///< an extension of its lease is on the wire
    bool giving_back = false; ///< a postpone is on its way, or waits for that extension: no other may follow
    bool removing = false;    ///< settling by a delete
    bool rejected = false;    ///< settling by a hand-off to the poison queue, then a delete
    bool discarded =
        false;            ///< by policy, unhandled: its group waits for its delete, after which it cannot come again
    bool overdue = false; ///< its handler was told to end because it ran for too long
    bool cancelled = false; ///< because of the drain, or of the lease
    std::atomic<turn> its_turn{turn::waits};
    bool lost = false; ///< the lease ran out or was refused: whatever the handler says, it no longer counts
    bool back = false; ///< lost, received here again since, and not lost again: there is something to give back

private:
    bool leave_queue(turn to)
    {
        auto expected = turn::waits;
        return its_turn.compare_exchange_strong(expected, to);
    }
};
using held_ptr = boost::intrusive_ptr<held>;

template <class... Arguments>
held_ptr make_held(Arguments&&... arguments)
{
    return held_ptr(new held(std::forward<Arguments>(arguments)...));
}

/// What is in flight here: message id -> the one entry with its newest receipt handle.
class ledger {
public:
    /// The entry of that message, or null.
    held_ptr find(std::string_view id) const
    {
        auto const at = entries_.find(id);
        return at == entries_.end() ? nullptr : *at;
    }

    void add(held_ptr entry)
    {
        if (entry->came_in && entry->came_in->entries++ == 0) bytes_ += entry->came_in->bytes;
        entries_.insert(std::move(entry));
        size_ = entries_.size();
    }

    /// A redelivery of a message held here: from now on only its newest handle counts. False when that came first:
    /// answers may overtake each other.
    bool adopt(held& entry, sqs::message const& again, tick now)
    {
        if (again.receive_count() < entry.receive_count) return false;
        if (again.receipt_handle != entry.handle) ++entry.handles;
        auto const size = again.receipt_handle.size();
        entry.handle_storage = std::make_unique<char[]>(size); // of that answer nothing else is needed
        again.receipt_handle.copy(entry.handle_storage.get(), size);
        entry.handle = {entry.handle_storage.get(), size};
        entry.received_at = now;
        entry.receive_count = again.receive_count();
        entry.back = entry.lost;
        return true;
    }

    void remove(held& entry)
    {
        entry.lease_hook::unlink();
        entry.at = held::stage::gone;
        auto const found = entries_.find(entry.message.id());
        if (found == entries_.end() || found->get() != &entry) return;
        if (entry.came_in && --entry.came_in->entries == 0) bytes_ -= entry.came_in->bytes;
        entries_.erase(found);
        size_ = entries_.size();
    }

    std::size_t size() const { return size_; } ///< from any thread, as nothing else here

    /// Of the answers of which something is held.
    std::size_t bytes() const { return bytes_; }

    template <class Visit>
    void for_each(Visit visit) const
    {
        for (auto const& entry : entries_)
            visit(entry);
    }

private:
    struct by_id {
        using is_transparent = void;
        using is_avalanching = void;
        static std::string_view id(std::string_view s) { return s; }
        static std::string_view id(held_ptr const& h) { return h->message.id(); }

        template <class T>
        std::size_t operator()(T const& a) const
        {
            return std::hash<std::string_view>()(id(a));
        }
        template <class T, class U>
        bool operator()(T const& a, U const& b) const
        {
            return id(a) == id(b);
        }
    };

    boost::unordered_flat_set<held_ptr, by_id, by_id> entries_;
    counter size_;
    std::size_t bytes_ = 0;
};

} // namespace quern
