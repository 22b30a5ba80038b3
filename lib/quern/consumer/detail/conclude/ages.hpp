#pragma once

#include <quern/consumer/detail/conclude/age_book.hpp>
#include <quern/consumer/detail/conclude/service_clock.hpp>
#include <quern/consumer/detail/stage_context.hpp>

#include <chrono>

namespace quern::detail {

/// How old messages are for max_age: since their first receive, less the time in which nobody tried them. Where
/// max_age is not set nothing is kept.
class ages {
public:
    explicit ages(stage_context& c) : context_(c), wanted_(c.options.max_age.has_value()) {}

    /// Looks at the clocks, so that a step of the calendar is seen as one; once a turn.
    void look()
    {
        if (wanted_) service_time();
    }

    /// The consumer works on less than there is: it is paused, drains, or suspects an outage.
    void stand_back(bool on);

    /// A message, or its group behind it, was put off for so long without a fault of its own, or waited here since.
    void put_off(held const&, std::chrono::milliseconds delay);
    void waited(held const&, tick since);

    /// Age of a message; zero where max_age is not set.
    std::chrono::milliseconds of(held const&);

private:
    wall_time service_time() { return clock_.at(context_.time.wall() + context_.api.clock_offset(), context_.now()); }
    std::uint64_t owner(held const&) const;

    stage_context& context_;
    bool const wanted_;
    service_clock clock_;
    age_book all_;   // of this consumer as a whole
    age_books each_; // of messages, or groups
};

} // namespace quern::detail
