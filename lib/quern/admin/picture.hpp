#pragma once

#include <quern/admin/health.hpp>
#include <quern/admin/recorder.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quern::admin {

/// One consumer at a moment.
struct queue_picture {
    std::string name; ///< of the queue
    explanation said;
    consumer_counters counts;
    recorded seen;
};

/// A program at a moment.
struct picture {
    vital_signs signs;
    std::vector<queue_picture> queues;
};

/// Processes like this one that are wanted: for an autoscaler.
struct wanted_processes {
    std::optional<std::size_t> replicas{}; ///< absent: not known yet
    std::string text = "not known yet";    ///< why so many
};

/// One line of JSON, as docs/guide/watching.md tells it:
/// {"program":…,"health":{…},"queues":[{"name":…,"stages":{…},…}]}
std::string to_json(picture const&, health_limits const&, std::string_view program, tick now, wall_time calendar,
    wanted_processes const* = nullptr, bool can_probe = false);

/// The last picture: where a program leaves it, and whoever shows it finds it.
///
/// Threads  any.
class board {
public:
    /// `now`: when the program began.
    explicit board(tick now)
    {
        picture first;
        first.signs.began_at = first.signs.beat_at = now;
        put(std::move(first));
    }

    void put(picture p)
    {
        auto next = std::make_shared<picture const>(std::move(p));
        std::lock_guard const held(lock_);
        last_.swap(next);
    }
    std::shared_ptr<picture const> last() const
    {
        std::lock_guard const held(lock_);
        return last_;
    }

private:
    std::mutex mutable lock_;
    std::shared_ptr<picture const> last_;
};

} // namespace quern::admin
