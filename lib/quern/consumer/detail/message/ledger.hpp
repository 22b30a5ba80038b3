#pragma once

#include <quern/consumer/detail/message/held.hpp>
#include <quern/telemetry/counter.hpp>

#include <boost/unordered/unordered_flat_set.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace quern::detail {

/// Id of a message, and its hash: for a message that comes in it is taken once.
struct message_id {
    message_id(std::string_view id) : text(id), hash(std::hash<std::string_view>()(id)) {}

    std::string_view text;
    std::size_t hash;
};

/// Messages in flight here: message id -> the one entry with its newest receipt handle.
class ledger {
public:
    /// The entry of that message, or null.
    held_ptr find(message_id id) const
    {
        auto const at = entries_.find(id);
        return at == entries_.end() ? nullptr : *at;
    }

    void add(held_ptr entry, message_id id)
    {
        entry->id_hash = id.hash;
        entry->number = ++added_;
        if (entry->came_in && entry->came_in->entries++ == 0) bytes_ += entry->came_in->bytes;
        entries_.insert(std::move(entry));
        size_ = entries_.size();
    }

    /// A redelivery of a message held here: from now on only its newest handle counts.
    ///
    /// Requires  it is not older than the entry, by its receive count: answers may overtake each other.
    static void adopt(held& entry, sqs::message const& again, tick now)
    {
        if (again.receipt_handle != entry.handle) ++entry.handles;
        auto const size = again.receipt_handle.size();
        entry.handle_storage = std::make_unique<char[]>(size); // of that answer nothing else is needed
        again.receipt_handle.copy(entry.handle_storage.get(), size);
        entry.handle = {entry.handle_storage.get(), size};
        entry.received_at = now;
        entry.receive_count = again.receive_count();
    }

    /// Takes it out; nothing happens when another entry stands for its message by now.
    void remove(held& entry)
    {
        auto const found = entries_.find(&entry);
        if (found == entries_.end()) return;
        if (entry.came_in && --entry.came_in->entries == 0) bytes_ -= entry.came_in->bytes;
        entries_.erase(found);
        size_ = entries_.size();
    }

    std::size_t size() const { return size_; } ///< from any thread, as nothing else here

    /// The size of all answers of which something is held.
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

        std::size_t operator()(message_id id) const { return id.hash; }
        std::size_t operator()(held_ptr const& h) const { return h->id_hash; }
        std::size_t operator()(held const* h) const { return h->id_hash; }

        bool operator()(message_id id, held_ptr const& h) const { return id.text == h->message.id(); }
        bool operator()(held_ptr const& a, held_ptr const& b) const { return a->message.id() == b->message.id(); }
        bool operator()(held const* a, held_ptr const& b) const { return a == b.get(); }
    };

    boost::unordered_flat_set<held_ptr, by_id, by_id> entries_;
    counter size_;
    std::uint64_t added_ = 0;
    std::size_t bytes_ = 0;
};

} // namespace quern::detail
