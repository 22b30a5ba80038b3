#pragma once

#include <quern/consumer/detail/message/held.hpp>

#include <boost/intrusive/list.hpp>

#include <chrono>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace quern::detail {

/// Leases by their ends. Nearly every one that is filed ends behind all others: such stand in a list, which costs
/// next to nothing, and the rest in a tree.
class leases_by_end {
public:
    void file(held&);

    /// As one that may end long after those that are still to come, and would send them to the tree.
    void file_apart(held& h) { apart_.insert({h.message.lease_deadline(), &h}); }

    bool remove(held&); ///< true when it was here

    /// Lease that ends first; null when there is none.
    held* first();

private:
    using list = boost::intrusive::list<held, boost::intrusive::base_hook<lease_hook>,
        boost::intrusive::constant_time_size<false>>;

    struct lease {
        tick end;
        held_ptr what;
        bool operator<(lease const& b) const { return end != b.end ? end < b.end : goes_before(b); }
        bool goes_before(lease const&) const; // by address last, or no simulated day were the same twice
    };

    list in_order_;
    std::set<lease> apart_;
};

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

    /// The longest lease of a message that waits for its turn: a longer one saves next to nothing, and after a crash
    /// such messages stay hidden for as long.
    static constexpr std::chrono::seconds longest_wait{900};

    explicit lease_book(std::chrono::seconds visibility_timeout)
        : visibility_(visibility_timeout), margin_(std::chrono::duration_cast<tick::duration>(visibility_timeout) / 3)
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

    /// Starts, or restarts, the lease of a message just received; hidden for visibility_timeout, or for so long.
    void hold(held& h, tick received_at) { hold(h, received_at, visibility_); }
    void hold(held&, tick received_at, std::chrono::seconds timeout);

    /// The extension sent at that time for that long was confirmed.
    void extended(held&, tick sent_at, std::chrono::seconds timeout);

    /// The service says that it is over.
    void refused(held&, tick now);

    /// Forgets the lease.
    void drop(held&);

    /// It must be extended by now.
    bool is_due(held const& h, tick now) const { return due(h) <= now; }

    /// A message that came now would wait for its turn for so long; zero: nobody knows.
    void expect_wait(std::chrono::nanoseconds d) { expected_ = std::chrono::ceil<std::chrono::seconds>(d); }

    /// The only place where a decision is made.
    plan poll(tick now);

private:
    void file(held&, tick from, std::chrono::seconds timeout);
    std::chrono::seconds wanted(held const&, tick now) const;
    tick due(held const& h) const { return h.message.lease_deadline() - margin_; }

    std::chrono::seconds visibility_;
    tick::duration margin_;
    std::chrono::seconds expected_{};
    leases_by_end fresh_;     // to be extended
    leases_by_end extending_; // asked for, not yet confirmed
};

} // namespace quern::detail
