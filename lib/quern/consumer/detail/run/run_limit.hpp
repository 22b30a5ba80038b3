#pragma once

#include <quern/consumer/detail/message/ledger.hpp>

#include <boost/intrusive/list.hpp>

#include <chrono>
#include <optional>
#include <vector>

namespace quern::detail {

/// Which handlers have run for too long. All have the same limit, so the oldest is the next. A handler hangs when it
/// still runs `grace` after its limit.
class run_limit {
public:
    /// Zero: no limit.
    run_limit(std::chrono::milliseconds limit, std::chrono::milliseconds grace) : limit_(limit), grace_(grace) {}

    void started(held& h, tick now)
    {
        h.started_at = now;
        running_.push_back(h);
    }

    static void ended(held& h) { h.run_hook::unlink(); }

    /// Messages over the limit, each told once.
    std::vector<held_ptr> overdue(tick now)
    {
        std::vector<held_ptr> out;
        if (limit_.count() == 0) return out;
        while (!running_.empty() && running_.front().started_at + limit_ <= now) {
            auto& first = running_.front();
            out.push_back(held_ptr(&first));
            running_.pop_front();
            late_.push_back(first);
        }
        return out;
    }

    /// Handlers run, and each of them hangs; after overdue().
    bool all_hang(tick now) const
    {
        return running_.empty() && !late_.empty() && late_.back().started_at + limit_ + grace_ <= now;
    }

    /// When one more is overdue; where all are, when all hang.
    std::optional<tick> wake_at() const
    {
        if (limit_.count() == 0) return {};
        if (!running_.empty()) return running_.front().started_at + limit_;
        if (!late_.empty()) return late_.back().started_at + limit_ + grace_;
        return {};
    }

private:
    using list = boost::intrusive::list<held, boost::intrusive::base_hook<run_hook>,
        boost::intrusive::constant_time_size<false>>;

    std::chrono::milliseconds limit_, grace_;
    list running_, late_; // by start
};

} // namespace quern::detail
