#pragma once

#include <quern/consumer/detail/message/ledger.hpp>

#include <chrono>
#include <deque>
#include <optional>
#include <vector>

namespace quern::detail {

/// Which messages share a call of a batch handler: a full batch at once, what there is when the first of it has
/// waited for `window`. A batch is full when it has `size` messages, or bodies of `bytes` altogether (0: any number).
class batches {
public:
    batches(std::size_t size, std::size_t bytes, std::chrono::milliseconds window)
        : size_(size), bytes_(bytes), window_(window)
    {}

    void set_size(std::size_t most) { size_ = most; }
    std::size_t waiting() const { return gathered_.size(); }

    /// `hurries`: it waits for nobody.
    void add(held_ptr, tick now, bool hurries = false);

    /// The next batch that is due; empty when there is none. `no_more`: none will come soon, so nobody waits for it.
    std::vector<held_ptr> take(tick now, bool no_more = false);

    /// Takes away everything, to be given back.
    std::vector<held_ptr> take_waiting()
    {
        return take_if([](held const&) { return true; });
    }

    /// Takes away each message of which the condition holds.
    template <class Condition>
    std::vector<held_ptr> take_if(Condition is_wanted)
    {
        std::vector<held_ptr> out;
        std::erase_if(gathered_, [&](entry& e) {
            if (!is_wanted(*e.what)) return false;
            waiting_bytes_ -= bytes_of(e);
            out.push_back(e.what);
            return true;
        });
        return out;
    }

    /// Takes away those whose lease has run out; before any other call in a turn.
    std::vector<held_ptr> take_lost();

    std::optional<tick> wake_at() const;

private:
    struct entry {
        held_ptr what;
        tick due;
    };

    static std::size_t bytes_of(entry const& e) { return e.what->message.body().size(); }
    bool is_full() const { return gathered_.size() >= size_ || (bytes_ != 0 && waiting_bytes_ >= bytes_); }

    std::size_t size_, bytes_;
    std::chrono::milliseconds window_;
    std::deque<entry> gathered_;
    std::size_t waiting_bytes_ = 0; // of gathered_
};

} // namespace quern::detail
