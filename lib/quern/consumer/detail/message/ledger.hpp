#pragma once

#include <quern/consumer/detail/message/held.hpp>
#include <quern/telemetry/counter.hpp>

#include <boost/unordered/unordered_flat_set.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace quern::detail {

/// Messages in flight here: message id -> the one entry with its newest receipt handle.
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
        entry.lease_hook::unlink();
        auto const found = entries_.find(entry.message.id());
        if (found == entries_.end() || found->get() != &entry) return;
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

} // namespace quern::detail
