#pragma once

#include <quern/consumer/detail/message/ledger.hpp>
#include <quern/core/error.hpp>

#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <vector>

namespace quern::detail {

/// One thing to tell SQS about one message.
struct settlement {
    enum class purpose {
        remove,   ///< delete: the handler is done
        hand_off, ///< copy to the poison queue; its delete follows
        postpone, ///< visible again after `timeout`: failed, or released with zero
        extend,   ///< still hidden for `timeout`: the handler is not done
    };

    held_ptr what;
    purpose why = purpose::remove;
    std::chrono::seconds timeout{}; ///< of a visibility change, from the moment of sending
    int attempts = 0;
    int extension = 0; ///< which of the message's, counted from 1
    int handle = 0;    ///< that it was sent with, see held::handles
    tick asked_at{};
    tick rank{}; ///< in its line, the earliest in front: see settle_queue

    bool has_newest_handle() const { return handle == what->handles; }
};

/// Settlements by rank. Nearly every one ranks behind all that are here: such stand in line, the rest in a heap.
class settlements_by_rank {
public:
    void push(settlement);
    settlement pop(); ///< the first
    settlement const& first() const { return apart_is_first() ? apart_.front() : in_order_.front(); }

    bool empty() const { return in_order_.empty() && apart_.empty(); }
    std::size_t size() const { return in_order_.size() + apart_.size(); }

    template <class Visit>
    void for_each(Visit visit) const
    {
        for (auto const& entry : in_order_)
            visit(entry);
        for (auto const& entry : apart_)
            visit(entry);
    }

private:
    bool apart_is_first() const;

    std::deque<settlement> in_order_;
    std::vector<settlement> apart_; // a heap
};

/// The settle stage's rule: which deletes and visibility changes share a request, and when it goes.
///
/// A request goes when it is full, when its oldest entry has waited for `linger`, or when no handler is running that
/// could add to it. What has the least of its lease left goes first: where requests are scarce, a flood of deletes
/// must not let leases run out. What failed joins a later request, after a pause; it may have been carried out, so it
/// ranks behind what was never asked by as long as a call may hang. So does the extension of a message that is being
/// deleted: the delete may save it too. Whose lease is over has none left to save: it ranks as if it had just been
/// received.
class settle_queue {
public:
    /// `may_hang`: a call, at most.
    settle_queue(std::chrono::milliseconds linger, std::chrono::seconds visibility_timeout,
        std::chrono::milliseconds may_hang, std::uint64_t seed)
        : linger_(linger), lease_(visibility_timeout), may_hang_(may_hang), random_(seed),
          phase_(std::uniform_int_distribution(0, 1'249'999)(random_))
    {}

    enum class call { remove, change, hand_off };
    struct batch {
        call what = call::remove;
        std::vector<settlement> entries;
    };

    void add(settlement, tick now);

    /// Tries again later: 50 ms, doubling to 5 s, with jitter; what fails together shares requests again.
    void add_again(settlement, tick now);

    /// The next request that should go now. `more_to_come`: by others, soon. `only_changes`: of visibility.
    std::optional<batch> take(tick now, bool more_to_come, bool only_changes = false);

    /// When take() has something new although nothing else happened.
    std::optional<tick> wake_at(bool only_changes = false) const;

    /// Entries that wait, without those of the requests under way.
    std::size_t size() const;

private:
    struct line {
        settlements_by_rank entries;
        tick oldest{}; // asked_at; exact while less than a request waits

        void push(settlement);
        void tidy(tick now, std::chrono::milliseconds lease); // then the front is worth sending
        bool due(tick now, std::chrono::milliseconds linger, bool more_to_come) const;
    };

    void enqueue(settlement);

    std::chrono::milliseconds linger_, lease_, may_hang_;
    std::mt19937_64 random_;
    std::chrono::microseconds phase_; // of retries: processes shall not keep time together
    std::array<line, 3> lines_;       // by call
    std::multimap<tick, settlement> later_;
};

/// Fate of an entry after its call.
enum class settled { done, again, lost };

settled judge(settlement const&, result<void> const& answer, tick now);

} // namespace quern::detail
