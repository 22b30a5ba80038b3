#pragma once

#include "options.hpp"

#include <map>
#include <optional>
#include <vector>

namespace yardstick {

/// A receipt handle, read: which message, where it is kept, and which of its receives the handle came with.
struct ticket {
    std::uint64_t number = 0;
    std::uint32_t slot = 0;
    std::uint16_t receives = 1;
};

/// A message that was handed out at least once and is not deleted.
struct slot {
    std::uint64_t number = 0;
    micros due = 0, first_received = 0, hidden_until = 0;
    std::uint32_t group = 0;
    std::uint32_t before = 0, behind = 0; // in the row of those hidden equally long
    micros row = -1;                      // which row; negative: not hidden
    std::uint16_t receives = 0;
};

/// Where messages are while they are hidden: found by their slot, and ordered by when they become visible again.
///
/// Visibility timeouts differ little, and within one the order of hiding is the order of showing. So each has a row,
/// and no operation depends on how many messages there are.
class hidden_messages {
public:
    explicit hidden_messages(micros usual) : usual_(usual) {}

    slot& operator[](std::uint32_t at) { return slots_[at]; }
    slot const& operator[](std::uint32_t at) const { return slots_[at]; }
    std::size_t size() const { return hidden_; }
    bool holds(ticket const& t) const
    {
        return t.slot < slots_.size() && slots_[t.slot].number == t.number && t.number != nobody;
    }

    std::uint32_t add(slot what)
    {
        if (free_.empty()) {
            slots_.emplace_back();
            free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
        }
        auto const at = free_.back();
        free_.pop_back();
        slots_[at] = what;
        return at;
    }

    void forget(std::uint32_t at)
    {
        show(at);
        slots_[at] = slot{.number = nobody};
        free_.push_back(at);
    }

    void hide(std::uint32_t at, micros duration, micros now)
    {
        show(at);
        auto& one = slots_[at];
        auto& row = rows_.try_emplace(duration, none, none).first->second;
        one.row = duration;
        one.hidden_until = now + duration;
        one.before = row.second;
        one.behind = none;
        (row.second == none ? row.first : slots_[row.second].behind) = at;
        row.second = at;
        ++hidden_;
    }

    void show(std::uint32_t at)
    {
        auto& one = slots_[at];
        if (one.row < 0) return;
        auto const place = rows_.find(one.row);
        auto& row = place->second;
        (one.before == none ? row.first : slots_[one.before].behind) = one.behind;
        (one.behind == none ? row.second : slots_[one.behind].before) = one.before;
        if (row.first == none && one.row != usual_) rows_.erase(place);
        one.row = -1;
        --hidden_;
    }

    /// The one that is to be shown first.
    std::optional<std::uint32_t> first() const
    {
        std::optional<std::uint32_t> out;
        for (auto const& [duration, row] : rows_)
            if (row.first != none && (!out || slots_[row.first].hidden_until < slots_[*out].hidden_until))
                out = row.first;
        return out;
    }

private:
    static constexpr std::uint32_t none = ~0u;
    static constexpr std::uint64_t nobody = ~0ull;

    micros usual_; // its row stays
    std::vector<slot> slots_;
    std::vector<std::uint32_t> free_;
    std::map<micros, std::pair<std::uint32_t, std::uint32_t>> rows_; // first and last
    std::size_t hidden_ = 0;
};

} // namespace yardstick
