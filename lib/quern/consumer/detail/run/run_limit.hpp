#pragma once

#include <quern/consumer/detail/message/ledger.hpp>

#include <boost/intrusive/list.hpp>

#include <chrono>
#include <optional>
#include <vector>

namespace quern::detail {

/// Which handlers have run for too long. All have the same limit, so the oldest is the next.
class run_limit {
public:
    /// Zero: no limit.
    explicit run_limit(std::chrono::milliseconds limit) : limit_(limit) {}

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
        for (; !running_.empty() && running_.front().started_at + limit_ <= now; running_.pop_front())
            out.push_back(held_ptr(&running_.front()));
        return out;
    }

    std::optional<tick> wake_at() const
    {
        if (running_.empty() || limit_.count() == 0) return {};
        return running_.front().started_at + limit_;
    }

private:
    std::chrono::milliseconds limit_;
    boost::intrusive::list<held, boost::intrusive::base_hook<run_hook>, boost::intrusive::constant_time_size<false>>
        running_; // by start
};

} // namespace quern::detail
