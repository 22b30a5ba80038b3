#pragma once

#include <quern/broker/engine.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>

namespace quern::broker::detail {

/// Time that messages of a tenant, or of a queue, were in flight of late: each counts until it is deleted or visible
/// again, what is five minutes old by a third, older still by less.
class busy_time {
public:
    /// One more or one less.
    void change(int in_flight, instant now);
    /// The same, as if it had been so since the last change(): for a queue without tenants, where it has to be cheap.
    void change(int in_flight) { in_flight_ += static_cast<std::size_t>(in_flight); }
    std::size_t in_flight() const { return in_flight_; }

    /// In seconds of one message.
    double recent(instant now) const;

private:
    std::size_t in_flight_ = 0;
    double seconds_ = 0;
    instant at_{};
};

/// Whether a tenant of a fair queue is noisy, as the SQS developer guide (fair queues) has it:
///
/// - it has at least 30 messages in flight, and more than a tenth of the queue's; or
/// - it had more than a tenth of the recent processing time, once that is worth telling: a minute of one message.
/// - It is quiet again five minutes after its last message came. Who has no backlog is never asked for.
///
/// The guide calls its numbers approximate, and says nothing of how soon a tenant is noticed.
class tenant_noise {
public:
    /// A message of this tenant was sent, or came from elsewhere.
    void came(instant now) { came_at_ = now; }

    /// `draw` says how long a spell of noise lasts before it is noticed; it is asked once in a spell, and a spell is
    /// over after a minute of quiet.
    bool is_noisy(
        busy_time const& own, busy_time const& all, instant now, std::function<std::chrono::seconds()> const& draw);

private:
    instant came_at_{};
    std::optional<instant> noticed_at_; ///< in this spell, or to come
    instant loud_at_{};                 ///< the last time
};

} // namespace quern::broker::detail
