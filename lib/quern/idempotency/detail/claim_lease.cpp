#include <quern/idempotency/detail/claim_lease.hpp>

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace quern::idempotency::detail {

namespace asio = boost::asio;
using std::chrono::milliseconds;

claim_lease::claim_lease(std::shared_ptr<store> s, clock& time, delivery const& d, std::string key, record first)
    : store_(std::move(s)), clock_(time), d_(d), key_(std::move(key)), row_(std::move(first))
{}

record claim_lease::reaching(tick until) const
{
    auto out = row_;
    auto const end = now() + std::chrono::ceil<milliseconds>(until - clock_.now()) + claim_slack;
    out.in_progress_until = end;
    out.expires = std::max<wall_time>(out.expires, std::chrono::ceil<std::chrono::seconds>(end));
    return out;
}

asio::awaitable<result<void>> claim_lease::extend(std::chrono::seconds timeout)
{
    tick const until = clock_.now() + timeout;
    {
        std::lock_guard const lock(mutex_);
        if (!held_) {
            lease_ = std::max(lease_, until);
            co_return result<void>();
        }
    }
    auto const ex = co_await asio::this_coro::executor;
    auto const pause = clock_.make_timer(ex);
    for (;;) {
        auto row = reaching(until);
        auto const said = co_await store_->extend(key_, std::move(row));
        if (said &&
            (said->applied || judge_refusal(said->found ? &*said->found : nullptr, row_.owner) == write_kind::done)) {
            std::lock_guard const lock(mutex_);
            reach_ = std::max(reach_, until);
            co_return result<void>();
        }
        if (!is_held()) co_return result<void>();
        if (said) co_return failure(errc::receipt_expired, "somebody else has the key " + key_);
        if (d_.remaining().count() <= 0) co_return said.error();
        co_await pause->wait_until(clock_.now() + milliseconds(300));
    }
}

claim_request claim_lease::begin()
{
    claim_request out;
    std::lock_guard const lock(mutex_);
    held_ = false;
    offset_ = store_->clock_offset();
    reach_ = std::max(d_.lease_deadline(), lease_);
    out.key = key_;
    out.row = reaching(reach_);
    out.now = now();
    out.attempt = d_.receive_count();
    return out;
}

bool claim_lease::hold()
{
    std::lock_guard const lock(mutex_);
    bool const is_by_its_clock = std::chrono::abs(store_->clock_offset() - offset_) < std::chrono::seconds(1);
    held_ = lease_ <= reach_ && is_by_its_clock;
    return held_;
}

store::answer<store_answer> claim_lease::extend_row()
{
    tick until;
    {
        std::lock_guard const lock(mutex_);
        until = std::max(lease_, reach_);
        offset_ = store_->clock_offset();
    }
    auto row = reaching(until);
    auto said = co_await store_->extend(key_, std::move(row));
    if (said && said->applied) {
        std::lock_guard const lock(mutex_);
        reach_ = std::max(reach_, until);
    }
    co_return said;
}

void claim_lease::let_go()
{
    std::lock_guard const lock(mutex_);
    held_ = false;
}

bool claim_lease::is_held() const
{
    std::lock_guard const lock(mutex_);
    return held_;
}

} // namespace quern::idempotency::detail
