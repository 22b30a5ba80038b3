#pragma once

#include <quern/core/clock.hpp>

#include <boost/intrusive/set.hpp>

#include <optional>

namespace quern::broker::detail {

/// Something that time alone does to a message, a poll, a queue or a move task, once, at a moment. On the agenda at
/// most once; leaves it by itself when destroyed.
class timed : public boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>,
                  boost::intrusive::optimize_size<true>> {
public:
    enum class kind { message, poll, retention, notes, move_task };

    explicit timed(kind k) : kind_(k) {}
    timed(timed const&) = delete;
    timed& operator=(timed const&) = delete;

    kind what() const { return kind_; }
    wall_time at() const { return at_; }
    bool armed() const { return is_linked(); }
    void disarm() { unlink_if(); }

    friend bool operator<(timed const& a, timed const& b) { return a.at_ < b.at_; }

private:
    friend class agenda;
    void unlink_if()
    {
        if (is_linked()) unlink();
    }

    kind kind_;
    wall_time at_{};
};

/// Timers of an engine, earliest first; at the same moment in the order of arming. Every operation is O(log n).
class agenda {
public:
    void arm(timed& what, wall_time at)
    {
        what.disarm();
        what.at_ = at;
        list_.insert(list_.end(), what); // most are later than all others
    }

    std::optional<wall_time> next() const
    {
        if (list_.empty()) return {};
        return list_.begin()->at();
    }

    /// Takes off what is due first, if anything is due by `now`.
    timed* take_due(wall_time now)
    {
        if (list_.empty() || list_.begin()->at() > now) return nullptr;
        auto& first = *list_.begin();
        first.disarm();
        return &first;
    }

private:
    boost::intrusive::multiset<timed, boost::intrusive::constant_time_size<false>> list_;
};

} // namespace quern::broker::detail
