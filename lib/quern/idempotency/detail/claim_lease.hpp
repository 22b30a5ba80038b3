#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/core/clock.hpp>
#include <quern/idempotency/store.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

namespace quern::idempotency::detail {

/// A claim reaches so much further than the lease: two clocks, each set right by Date headers to within a second and
/// a half, and the requests under way.
inline constexpr std::chrono::seconds claim_slack{4};

/// Tells whether somebody else may have the message by now. A message that no consumer keeps, as in the test of a
/// handler, has no lease that could end.
inline bool is_lease_over(delivery const& d)
{
    return d.lease_deadline() != tick() && d.remaining().count() <= 0;
}

/// One claim on a key, and its tie to the lease of a message: while it is held, the lease is extended only after the
/// row has been.
///
/// Threads  any: the handler's and the consumer's.
class claim_lease final : public lease_guard {
public:
    /// `d` outlives the handler, as the consumer keeps it; `first`: the row as it is put.
    claim_lease(std::shared_ptr<store>, clock&, delivery const& d, std::string key, record first);

    /// As lease_guard. Tries again while the store does not answer, and the lease lasts.
    boost::asio::awaitable<result<void>> extend(std::chrono::seconds) override;

    /// Begins a claim that reaches as far as the lease does now; the request for it.
    claim_request begin();

    /// The claim is ours as far as it reaches. True when that is far enough; else the lease was extended meanwhile,
    /// or the store's clock turned out to be another, and the row has to follow: extend_row(), and again.
    bool hold();
    store::answer<store_answer> extend_row();

    /// It is not ours any more, or never was: extensions go through.
    void let_go();
    bool is_held() const;

    std::string const& key() const { return key_; }
    record const& row() const { return row_; } ///< what does not change in it: owner, validation

    wall_time now() const { return clock_.wall() + store_->clock_offset(); }
    store& in() const { return *store_; }

private:
    record reaching(tick until) const;

    std::shared_ptr<store> const store_;
    clock& clock_;
    delivery const& d_;
    std::string const key_;
    record const row_;
    mutable std::mutex mutex_;
    bool held_ = false;
    std::chrono::milliseconds offset_{}; ///< by which the row's times were made
    tick reach_ = tick::min();           ///< of the lease, as far as it is covered by the claim
    tick lease_ = tick::min();           ///< as far as it was let through
};

} // namespace quern::idempotency::detail
