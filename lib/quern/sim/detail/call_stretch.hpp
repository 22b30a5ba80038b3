#pragma once

#include <quern/core/clock.hpp>

#include <cstddef>

namespace quern::sim {

/// Change calls of one process that followed each other without a pause. A process whose calls were full all the time
/// could not ask for more leases than it did: it has more in flight than its calls can extend.
class call_stretch {
public:
    void answered(tick sent_at, tick now, std::size_t entries)
    {
        if (calls_ == 0 || sent_at > until_) *this = call_stretch(sent_at);
        ++calls_;
        entries_ += entries;
        until_ = now;
        last_took_ = now - sent_at;
    }

    /// From then on until the other, but for a call that is still under way.
    bool covers(tick from, tick to) const
    {
        return calls_ != 0 && begun_ <= from && until_ + last_took_ >= to && entries_ >= full * calls_;
    }

    call_stretch() = default;

private:
    explicit call_stretch(tick begun) : begun_(begun) {}

    static constexpr std::size_t full = 8; // of ten entries: what is overtaken leaves a call

    tick begun_{}, until_{};
    tick::duration last_took_{};
    std::size_t calls_ = 0, entries_ = 0;
};

} // namespace quern::sim
