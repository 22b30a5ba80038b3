#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/core/error.hpp>
#include <quern/policy/breaker.hpp>
#include <quern/telemetry/counter.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/intrusive/list_hook.hpp>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quern {

/// A place in the lease book, and one among the running handlers: gone with the message.
using lease_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<class lease_book>,
    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
using run_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<class run_limit>,
    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// One call of a handler, with one message or with a batch.
struct handler_run {
    boost::asio::cancellation_signal cancel; ///< emit on the executor below
    boost::asio::any_io_executor on;
    std::size_t messages = 1, told = 0; ///< of a batch, the handler is cancelled when all its messages say so
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

/// A message that this consumer holds, from its receive until its settlement is confirmed.
struct held : std::enable_shared_from_this<held>, lease_hook, run_hook {
    enum class stage {
        waiting,
        gathering, ///< for a batch
        running,
        settling,
        gone,
    };

    held(sqs::message m, std::shared_ptr<std::byte[]> from, clock const& time, tick now)
        : message(m, from, time), handle(m.receipt_handle), handle_storage(std::move(from)), received_at(now),
          receive_count(m.receive_count())
    {}

    delivery message;
    std::string_view handle; ///< the newest: SQS accepts an older one without deleting anything
    std::shared_ptr<std::byte[]> handle_storage;
    tick received_at;  ///< of the newest handle
    int receive_count; ///< of the newest handle
    stage at = stage::waiting;
    int extensions = 0;       ///< asked for; only the newest is worth sending
    bool extending = false;   ///< an extension of its lease is on the wire
    bool giving_back = false; ///< a postpone is on its way, or waits for that extension: no other may follow
    std::optional<std::chrono::seconds> postponed; ///< the postpone that waits for that extension's answer
    bool removing = false;                         ///< settling by a delete
    bool rejected = false;                         ///< settling by a hand-off to the poison queue, then a delete
    std::string reason;                            ///< of the rejection
    policy::breaker::ticket ticket{};              ///< of its handler's start
    std::optional<failure> damage;                 ///< it arrived unreadable: no handler can run
    tick started_at{};                             ///< of its handler
    bool overdue = false;                          ///< its handler was told to end because it ran for too long
    bool cancelled = false;                        ///< because of the drain, or of the lease
    bool lost = false; ///< the lease ran out or was refused: whatever the handler says, it no longer counts
    bool back = false; ///< lost, and received here again since: there is something to give back
    std::shared_ptr<handler_run> run;   ///< while running
    std::unique_ptr<handler_asks> asks; ///< null: nothing yet
    std::shared_ptr<answer> came_in;    ///< null in tests: then it counts for nothing
};
using held_ptr = std::shared_ptr<held>;

/// What is in flight here: message id -> the one entry with its newest receipt handle.
class ledger {
public:
    /// The entry of that message, or null.
    held_ptr find(std::string_view id) const
    {
        auto const at = entries_.find(id);
        return at == entries_.end() ? nullptr : at->second;
    }

    void add(held_ptr entry)
    {
        if (entry->came_in && entry->came_in->entries++ == 0) bytes_ += entry->came_in->bytes;
        auto const id = entry->message.id(); // a view into storage that the entry keeps alive
        entries_.emplace(id, std::move(entry));
        size_ = entries_.size();
    }

    /// A redelivery of a message held here: from now on only its newest handle counts. False when that came first:
    /// answers may overtake each other.
    bool adopt(held& entry, sqs::message const& again, tick now)
    {
        if (again.receive_count() < entry.receive_count) return false;
        auto const size = again.receipt_handle.size();
        entry.handle_storage = std::make_shared<std::byte[]>(size); // of that answer nothing else is needed
        std::memcpy(entry.handle_storage.get(), again.receipt_handle.data(), size);
        entry.handle = {reinterpret_cast<char const*>(entry.handle_storage.get()), size};
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
        if (found == entries_.end() || found->second.get() != &entry) return;
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
        for (auto const& [id, entry] : entries_)
            visit(entry);
    }

private:
    std::unordered_map<std::string_view, held_ptr> entries_;
    counter size_;
    std::size_t bytes_ = 0;
};

} // namespace quern
