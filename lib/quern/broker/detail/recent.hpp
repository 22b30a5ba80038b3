#pragma once

#include <quern/broker/detail/giving_back.hpp>
#include <quern/core/clock.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace quern::broker::detail {

/// Deduplication ids and receive attempt ids count for five minutes (SQS API reference, SendMessage and
/// ReceiveMessage).
inline constexpr std::chrono::minutes deduplication_interval{5};

/// Notes under keys, of the last five minutes. Each operation is O(1). Older notes are never found; their memory goes
/// with the next operation, or with drop_old().
template <class Value>
class recent {
public:
    /// The value noted under the key, or nullptr. Good until the next call.
    Value* find(std::string_view key, wall_time now)
    {
        drop_old(now);
        auto const at = entries_.find(key);
        return at == entries_.end() ? nullptr : &at->second.value;
    }

    /// Notes a value, in place of an earlier one under the same key.
    void note(std::string key, Value value, wall_time now)
    {
        drop_old(now);
        note_until(std::move(key), std::move(value), now + deduplication_interval);
    }

    /// Later than all others.
    void note_until(std::string key, Value value, wall_time until)
    {
        ends_.push_back({until, key});
        entries_.insert_or_assign(std::move(key), entry{until, std::move(value)});
    }

    void forget(std::string_view key)
    {
        auto const at = entries_.find(key);
        if (at == entries_.end()) return;
        entries_.erase(at);
        give_back_buckets(entries_);
    }

    /// Forgets what is five minutes old.
    void drop_old(wall_time now)
    {
        if (ends_.empty() || ends_.front().at > now) return;
        for (; !ends_.empty() && ends_.front().at <= now; ends_.pop_front()) {
            auto const at = entries_.find(ends_.front().key);
            if (at != entries_.end() && at->second.until <= now) entries_.erase(at);
        }
        if (ends_.empty()) ends_.shrink_to_fit();
        give_back_buckets(entries_);
    }

    /// When the oldest note is to be dropped; absent: there is none.
    std::optional<wall_time> next_end() const
    {
        if (ends_.empty()) return {};
        return ends_.front().at;
    }

    void clear()
    {
        entries_ = {};
        ends_ = {};
    }

    std::size_t size() const { return entries_.size(); }
    std::size_t buckets() const { return entries_.bucket_count(); }

private:
    struct entry {
        wall_time until;
        Value value;
    };
    struct end {
        wall_time at;
        std::string key;
    };
    struct hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    std::unordered_map<std::string, entry, hash, std::equal_to<>> entries_;
    std::deque<end> ends_; ///< in the order of time, as the interval is always the same
};

} // namespace quern::broker::detail
