#include <quern/consumer/detail/lease_book.hpp>

#include <algorithm>
#include <utility>

namespace quern::detail {

using std::chrono::seconds;

bool leases_by_end::lease::goes_before(lease const& b) const
{
    auto const order = what->message.id().compare(b.what->message.id());
    return order != 0 ? order < 0 : what < b.what;
}

void leases_by_end::file(held& h)
{
    if (!in_order_.empty() && in_order_.back().message.lease_deadline() > h.message.lease_deadline())
        return file_apart(h);
    in_order_.push_back(h);
    ++listed_;
}

bool leases_by_end::remove(held& h)
{
    if (!h.lease_hook::is_linked()) return !apart_.empty() && apart_.erase({h.message.lease_deadline(), &h}) != 0;
    h.lease_hook::unlink();
    --listed_;
    return true;
}

held* leases_by_end::first()
{
    auto* const listed = in_order_.empty() ? nullptr : &in_order_.front();
    if (apart_.empty()) return listed;
    auto const& [end, h] = *apart_.begin();
    return listed && listed->message.lease_deadline() <= end ? listed : h.get();
}

void lease_book::hold(held& h, tick received_at, seconds timeout)
{
    file(h, received_at, timeout);
}

void lease_book::refused(held& h, tick now)
{
    drop(h);
    h.message.deadline_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
}

void lease_book::file(held& h, tick from, seconds timeout)
{
    drop(h);
    tick until = from + timeout;
    if (h.asks && h.asks->guard) until = std::min(until, h.asks->covered);
    h.message.deadline_.store(until.time_since_epoch().count(), std::memory_order_relaxed);
    if (timeout <= visibility_)
        fresh_.file(h);
    else
        fresh_.file_apart(h);
}

/// Leases of what waits for its turn grow with its wait, so that waiting costs few requests, and a crash hides
/// a message for no more than some times the wait that it has behind it.
seconds lease_book::wanted(held const& h, tick now) const
{
    if (h.life.is_running()) return of_a_run(h, now);
    using state = message_life::state;
    if (!h.life.is(state::waiting) && !h.life.is(state::gathering)) return visibility_;
    auto const grown = std::chrono::floor<seconds>(4 * (now - h.received_at));
    return std::max(visibility_, std::min(std::max(grown, expected_), longest_wait));
}

seconds lease_book::of_a_run(held const& h, tick now) const
{
    auto out = std::min<tick::duration>(now - std::max(h.received_at, h.began_at), longest_run * visibility_);
    if (handler_timeout_) out = std::min<tick::duration>(out, h.began_at + *handler_timeout_ + visibility_ - now);
    return std::max(visibility_, std::chrono::floor<seconds>(out));
}

lease_book::plan lease_book::poll(tick now)
{
    plan out;
    auto const wake_at = [&](tick at) { out.wake_at = std::min(out.wake_at.value_or(at), at); };
    while (auto* const first = fresh_.first()) {
        if (due(*first) > now) {
            wake_at(due(*first));
            break;
        }
        held_ptr h(first);
        fresh_.remove(*h);
        auto const left = std::chrono::floor<seconds>(h->received_at + horizon - now);
        auto const deadline = h->message.lease_deadline();
        if (now >= deadline) {
            out.lost.push_back(std::move(h));
            continue;
        }
        extending_.file(*h);
        auto const wants = wanted(*h, now), timeout = std::min(wants, left);
        auto const worth_it = seconds(timeout < wants ? 1 : 0); // near the horizon it would be asked for without end
        if (now + timeout > deadline + worth_it) out.extend.push_back({std::move(h), timeout});
    }
    while (auto* const first = extending_.first()) {
        auto const end = first->message.lease_deadline();
        if (end > now) {
            wake_at(end);
            break;
        }
        held_ptr h(first);
        extending_.remove(*h);
        out.lost.push_back(std::move(h));
    }
    return out;
}

} // namespace quern::detail
