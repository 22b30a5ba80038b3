#pragma once

#include <quern/core/clock.hpp>

#include <optional>

namespace quern::flags::detail {

/// Decides when a flag that tells others of an outage is written: open once the outage has lasted ten seconds, again
/// each minute, for others may have written meanwhile, and closed when it is over.
class raise_rule {
public:
    /// True as long as an outage is suspected.
    void outage(bool now_is, tick now);

    /// The program ends: an open flag is closed at once.
    void finish(tick now);

    /// The word that is to be written now, true for open; one at a time.
    std::optional<bool> poll(tick now);
    void written(bool well, tick now);

    /// When time alone will have something written.
    std::optional<tick> wake_at() const;

private:
    std::optional<tick> next() const;

    std::optional<tick> since_; // of the outage
    bool is_open_ = false;      // as it was written, or perhaps was
    tick written_at_{}, not_before_{};
    std::optional<bool> under_way_;
    int failures_ = 0;
};

} // namespace quern::flags::detail
