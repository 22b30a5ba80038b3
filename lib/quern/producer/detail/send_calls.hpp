#pragma once

#include <quern/core/clock.hpp>
#include <quern/policy/concurrency.hpp>

#include <chrono>
#include <cstddef>
#include <optional>

namespace quern::detail {

/// Requests of a producer that may be under way at once: as many as `most` where that is 16 or less. Otherwise 16 are
/// always allowed, and beyond them a policy::concurrency_rule finds how many bring more.
class send_calls {
public:
    static constexpr std::size_t always = 16;

    explicit send_calls(std::size_t most) : most_(most) {}

    bool is_free() const { return under_way_ < limit(); }
    std::size_t limit() const { return rule_ ? rule_->limit() : std::min(most_, always); }
    std::size_t most() const { return most_; }
    std::size_t under_way() const { return under_way_; }

    void began(tick now);

    /// A request of so many messages ended. `more_waits`: a full one waits for its place.
    void ended(policy::call_end, tick::duration took, std::size_t messages, bool more_waits, tick now);

    /// More would bring nothing, or are refused: the rule has stayed below `most` for five seconds at least.
    bool is_service_bound() const { return rule_ && limit() < most_ && !grows_; }

    /// Time that one of the latest requests took, and its messages; zero before the first has ended.
    std::chrono::nanoseconds took() const { return std::chrono::nanoseconds(static_cast<std::int64_t>(took_)); }
    double messages_each() const { return messages_; }

private:
    std::size_t const most_;
    std::size_t under_way_ = 0;
    std::optional<policy::concurrency_rule> rule_;
    std::size_t mark_ = always, most_lately_ = always; // the greatest limit of some seconds, and of those since
    std::optional<tick> marked_at_;
    bool grows_ = true;
    double took_ = 0, messages_ = 0; // means that forget: nanoseconds, and messages
};

} // namespace quern::detail
