#pragma once

#include <quern/consumer/detail/message/held.hpp>

#include <boost/intrusive/set.hpp>

#include <chrono>
#include <optional>
#include <vector>

namespace quern::detail {

/// The lease keeper's rule: when each lease must be extended, and when it is lost.
///
/// Extends late, when a third of the visibility timeout is left: most handlers are done by then, and two
/// more attempts still fit. SQS counts 12 hours from the receive; no extension reaches beyond them
/// (SQS developer guide, visibility timeout).
class lease_book {
public:
    /// How long after a receive its message may be hidden: a little less than SQS allows, since its count began
    /// before the answer reached us.
    static constexpr std::chrono::seconds horizon = std::chrono::hours(12) - std::chrono::seconds(10);

    explicit lease_book(std::chrono::seconds visibility_timeout)
        : visibility_(visibility_timeout), margin_(visibility_timeout / 3.0)
    {}

    struct extension {
        held_ptr what;
        std::chrono::seconds timeout; ///< from the moment of sending
    };
    struct plan {
        std::vector<extension> extend; ///< ask for more time now
        std::vector<held_ptr> lost;    ///< the time is over; reported once
        std::optional<tick> wake_at;
    };

    /// Starts, or restarts, the lease of a message just received.
    void hold(held&, tick received_at);

    /// The extension sent at that time for that long was confirmed.
    void extended(held&, tick sent_at, std::chrono::seconds timeout);

    /// The service says that it is over.
    void refused(held&, tick now);

    /// The only place where a decision is made.
    plan poll(tick now);

private:
    struct deadline_of {
        using type = tick;
        tick operator()(held const& h) const { return h.message.lease_deadline(); }
    };
    using entries = boost::intrusive::multiset<held, boost::intrusive::base_hook<lease_hook>,
        boost::intrusive::key_of_value<deadline_of>, boost::intrusive::constant_time_size<false>>;

    tick due(held const& h) const
    {
        return h.message.lease_deadline() - std::chrono::duration_cast<tick::duration>(margin_);
    }
    void file(held&, tick deadline);

    std::chrono::seconds visibility_;
    std::chrono::duration<double> margin_;
    entries fresh_;     // by deadline, nearly always filed behind the last: to be extended
    entries extending_; // by deadline: asked for, not yet confirmed
};

} // namespace quern::detail
