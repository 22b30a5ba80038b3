#pragma once

#include <quern/consumer/detail/line.hpp>
#include <quern/consumer/detail/run/batches.hpp>
#include <quern/consumer/detail/run/call_limit.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace quern::detail {

/// Calls of the handler at once, and the messages that gather to share one.
class call_places {
public:
    call_places(line const& l, bool takes_batches)
        : line_(l), takes_batches_(takes_batches), limit_(l.options.handler_concurrency, messages_a_call()),
          gathering(batch_size(), l.options.batch_bytes, l.options.batch_window)
    {}

    bool takes_batches() const { return takes_batches_; }

    void limits_are_turned()
    {
        gathering.set_size(batch_size());
        limit_.set(line_.limits.handler_concurrency, messages_a_call());
    }

    /// One more call may begin.
    bool may_call() const { return limit_.is_none() || limit_.admits(under_way()); }

    /// One more message may begin, or gather for a call.
    bool may_place() const { return takes_batches_ || may_call(); }

    /// How many more messages handler_concurrency has room for, while so many come or wait.
    std::size_t room_beside(std::size_t coming) const
    {
        if (limit_.is_none()) return std::numeric_limits<std::size_t>::max();
        return limit_.room(under_way(), coming + gathering.waiting());
    }

    void batch_begins() { ++batch_calls_; }
    void batch_ends() { --batch_calls_; }

private:
    std::size_t under_way() const { return takes_batches_ ? batch_calls_ : line_.running; }
    std::size_t batch_size() const { return std::min(line_.options.batch_size, line_.limits.max_in_flight); }
    std::size_t messages_a_call() const { return takes_batches_ ? batch_size() : 1; }

    line const& line_;
    bool const takes_batches_;
    call_limit limit_;
    std::size_t batch_calls_ = 0; // of other handlers each message is one

public:
    batches gathering;
};

} // namespace quern::detail
