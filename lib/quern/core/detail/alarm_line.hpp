#pragma once

#include <quern/core/alarm.hpp>

#include <list>

namespace quern::detail {

/// The alarms of all who wait for the same event.
///
/// Lifetime  outlives its places.
/// Threads   one strand.
class alarm_line {
public:
    /// An alarm stands in line while this lives.
    class place {
    public:
        place(alarm_line& l, alarm& one) : line_(l), at_(l.alarms_.insert(l.alarms_.end(), &one)) {}
        place(place const&) = delete;
        ~place() { line_.alarms_.erase(at_); }

    private:
        alarm_line& line_;
        std::list<alarm*>::iterator at_;
    };

    void ring()
    {
        for (auto* const one : alarms_)
            one->ring();
    }

private:
    std::list<alarm*> alarms_;
};

} // namespace quern::detail
