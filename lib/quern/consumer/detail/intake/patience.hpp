#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <chrono>
#include <optional>

namespace quern::detail {

/// Whether somebody has to change something before such a request can succeed: the queue is gone, access is denied,
/// or the keys are refused and there are no others to come.
bool is_refusal(failure const&);

/// The rule of giving up: when receives have been refused for so long that nobody should wait any more.
///
/// A client that is closed, or gone, answers nothing any more: the third receive in a row that it does not begin is
/// the last straw whatever the limits are. One alone may have been cancelled on its way.
///
/// An answer ends a refusal. Any other failure neither ends nor prolongs it: it does not say what the answer would
/// have been. So only a refusal can be the last straw.
class patience {
public:
    using limit = std::optional<std::chrono::milliseconds>;

    /// Each absent: never. `at_start` counts until the first receive has been answered; absent, it is `after`.
    patience(limit after, limit at_start) : after_(after), at_start_(at_start ? at_start : after) {}

    /// A receive came back.
    void answered()
    {
        was_answered_ = true;
        stopped_ = 0;
        refused_since_.reset();
    }

    /// A receive failed. True: give up.
    bool failed(failure const& why, tick now)
    {
        stopped_ = why.code == errc::stopped ? stopped_ + 1 : 0;
        if (stopped_ == 3) return true;
        if (!is_refusal(why)) return false;
        if (!refused_since_) refused_since_ = now;
        auto const& most = was_answered_ ? after_ : at_start_;
        return most && now - *refused_since_ >= *most;
    }

    std::optional<tick> refused_since() const { return refused_since_; }

private:
    limit after_, at_start_;
    bool was_answered_ = false;
    int stopped_ = 0; // in a row
    std::optional<tick> refused_since_;
};

} // namespace quern::detail
