#pragma once

#include <quern/core/clock.hpp>

#include <cstdint>
#include <optional>

namespace quern::relay::detail {

/// The rule for a web service that answers 429: how many requests may begin in a second. Without a limit at first; an
/// answer of 429 halves what was sent in the last second, at most once a second, since what was under way then is no
/// news. Each success adds a tenth of a request a second, so that the rate grows by a tenth in a second; twice the
/// rate at which it was refused last, there is no limit again.
///
/// Threads  one strand.
class gentle_pace {
public:
    /// Begins a request and returns `now`; or, where it is too early, returns the time at which to ask again. Each
    /// success brings that nearer. (Nobody is given a time in advance: a hundred requests that took theirs while the
    /// service refused would wait for eight minutes after it had recovered.)
    tick begin(tick now);

    void refused(tick now);
    void succeeded();

    /// Requests a second; absent: no limit.
    std::optional<double> rate() const;

    static constexpr double least = 0.2; ///< a request in five seconds: enough to learn that it is better again

private:
    double lately(tick now) const;
    void count(tick now);
    tick::duration distance() const;

    double rate_ = 0; // 0: no limit
    double refused_at_ = 0;
    tick since_ = tick::min(); // the last request began, or was refused
    tick cut_at_ = tick::min();
    tick second_ = tick::min(); // the one that is being counted began then
    std::uint64_t in_second_ = 0, in_last_ = 0;
};

} // namespace quern::relay::detail
