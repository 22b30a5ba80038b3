#pragma once

#include <quern/consumer/detail/message/held.hpp>

#include <boost/intrusive/list.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <vector>

namespace quern::detail {

/// Leases by their ends. Nearly every one that is filed ends behind all others: such stand in a list, which costs
/// next to nothing, and the rest in a tree.
class leases_by_end {
public:
    /// Counts those in the list in `listed`.
    explicit leases_by_end(std::size_t& listed) : listed_(listed) {}

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
    std::size_t& listed_;
    std::set<lease> apart_;
};

/// The lease keeper's rule: when each lease must be extended, and when it is lost.
///
/// Extends late, when a third of the visibility timeout is left: most handlers are done by then, and two more
/// attempts still fit; earlier, up to two thirds, where extending all takes longer. The lease of a message that runs
/// grows with its age, so that long handlers cost few requests: a crash hides it for as long as it has run at most.
/// SQS counts 12 hours from the receive; no extension reaches beyond them (SQS developer guide, visibility timeout).
class lease_book {
public:
    /// How long after a receive its message may be hidden: a little less than SQS allows, since its count began
    /// before the answer reached us.
    static constexpr std::chrono::seconds horizon = std::chrono::hours(12) - std::chrono::seconds(10);

    /// The longest lease of a message that waits for its turn: a longer one saves next to nothing, and after a crash
    /// such messages stay hidden for as long.
    static constexpr std::chrono::seconds longest_wait{900};

    /// The longest lease of a message that runs, in visibility timeouts: a tenth of the requests.
    static constexpr int longest_run = 10;

    /// `handler_timeout`: no lease reaches further beyond it than a visibility timeout.
    explicit lease_book(
        std::chrono::seconds visibility_timeout, std::optional<std::chrono::milliseconds> handler_timeout = {})
        : visibility_(visibility_timeout), handler_timeout_(handler_timeout), margin_(usual() / 3)
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
    void extended(held& h, tick sent_at, std::chrono::seconds timeout) { file(h, sent_at, timeout); }

    /// The service says that it is over.
    void refused(held&, tick now);

    /// Forgets the lease.
    void drop(held& h)
    {
        if (!fresh_.remove(h)) extending_.remove(h);
    }

    /// It must be extended by now.
    bool is_due(held const& h, tick now) const { return due(h) <= now; }

    /// A message that came now would wait for its turn for so long; zero: nobody knows.
    void expect_wait(std::chrono::nanoseconds d) { expected_ = std::chrono::ceil<std::chrono::seconds>(d); }

    /// Extending all short ones takes so long.
    void expect_extending(tick::duration all) { margin_ = std::clamp(all * 3 / 2, usual() / 3, usual() * 2 / 3); }

    /// Leases of a visibility timeout or less: each has to be extended within that.
    std::size_t short_ones() const { return short_; }

    /// The visibility timeout.
    tick::duration usual() const { return visibility_; }

    /// The only place where a decision is made.
    plan poll(tick now);

private:
    void file(held&, tick from, std::chrono::seconds timeout);
    std::chrono::seconds wanted(held const&, tick now) const;
    std::chrono::seconds of_a_run(held const&, tick now) const;
    tick due(held const& h) const { return h.message.lease_deadline() - margin_; }

    std::chrono::seconds visibility_;
    std::optional<std::chrono::milliseconds> handler_timeout_;
    tick::duration margin_;
    std::chrono::seconds expected_{};
    std::size_t short_ = 0;
    leases_by_end fresh_{short_};     // to be extended
    leases_by_end extending_{short_}; // asked for, not yet confirmed
};

} // namespace quern::detail
