#pragma once

#include "options.hpp"

#include <optional>
#include <random>

namespace yardstick {

/// When each message becomes due: an open loop, which does not wait for whoever receives them.
class arrivals {
public:
    explicit arrivals(options const& what)
        : gap_(what.rate > 0 ? 1e6 / what.rate : 0), poisson_(what.poisson), endless_(gap_ == 0 || what.rehearse),
          left_(what.limit), dice_(what.seed)
    {}

    /// The first becomes due a gap after `now`; what was due before and has not been taken is not counted any more.
    void start(micros now)
    {
        endless_ = gap_ == 0;
        next_ = static_cast<double>(now) + gap();
    }
    bool is_rehearsal() const { return endless_ && gap_ != 0; }

    /// When the next one is due; not before start(), and nothing when there are no more. An endless backlog is due by
    /// now.
    std::optional<micros> next(micros now) const
    {
        if (left_ == 0) return {};
        if (endless_) return now;
        if (!next_) return {};
        return static_cast<micros>(*next_);
    }

    /// When that one became due, if it is due by now; the one behind it is next.
    std::optional<micros> take(micros now)
    {
        auto const due = next(now);
        if (!due || *due > now) return {};
        --left_;
        if (!endless_) *next_ += gap();
        return due;
    }

private:
    double gap() { return poisson_ ? std::exponential_distribution<double>(1)(dice_) * gap_ : gap_; }

    double gap_;
    bool poisson_, endless_;
    std::uint64_t left_;
    std::mt19937_64 dice_;
    std::optional<double> next_; // not a whole number: at 300,000 a second a third of a microsecond counts
};

} // namespace yardstick
