#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

namespace quern::detail {

/// The rule of handler concurrency: whether one more call of the handler may begin, and how many more messages are
/// worth receiving while no more may.
///
/// Messages may wait here for a call to end, so that the next begins at once: as many as the calls can take, at least
/// ten more than end while a receive is under way. What waits beyond that could be handled by somebody else.
class call_limit {
public:
    /// `most` calls at once, zero: no limit; of so many messages each, at most.
    call_limit(std::size_t most, std::size_t messages) { set(most, messages); }

    void set(std::size_t most, std::size_t messages)
    {
        most_ = most;
        each_ = messages;
    }

    std::size_t most() const { return most_; }

    bool is_none() const { return most_ == 0; }

    bool admits(std::size_t calls) const { return is_none() || calls < most_; }

    /// How many messages may be asked for while so many calls run, and so many messages wait or are coming; `rounds`:
    /// calls that follow each other while a receive is under way. None while that would be fewer than a receive
    /// brings.
    std::size_t room(std::size_t calls, std::size_t waiting, double rounds = 0) const
    {
        if (is_none()) return std::numeric_limits<std::size_t>::max();
        auto const free = most_ - std::min(calls, most_);
        auto const all = most_ * each_;
        auto const ended = static_cast<std::size_t>(std::min(rounds, most_rounds) * static_cast<double>(all));
        auto const wanted = free * each_ + std::max(all, one_receive + ended);
        return wanted < waiting + one_receive ? 0 : wanted - waiting;
    }

private:
    static constexpr std::size_t one_receive = 10;
    static constexpr double most_rounds = 100; // lest one process keep all when handlers become slow

    std::size_t most_;
    std::size_t each_;
};

} // namespace quern::detail
