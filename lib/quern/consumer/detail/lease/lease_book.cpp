#include <quern/consumer/detail/lease/lease_book.hpp>

namespace quern {

using std::chrono::seconds;

void lease_book::hold(held& h, tick received_at)
{
    file(h, received_at + visibility_);
}

void lease_book::extended(held& h, tick sent_at, seconds timeout)
{
    file(h, sent_at + timeout);
}

void lease_book::refused(held& h, tick now)
{
    h.message.deadline_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    h.lease_hook::unlink();
}

void lease_book::file(held& h, tick deadline)
{
    h.message.deadline_.store(deadline.time_since_epoch().count(), std::memory_order_relaxed);
    h.lease_hook::unlink();
    auto at = fresh_.end(); // nearly always the last: all leases are equally long
    while (at != fresh_.begin() && std::prev(at)->message.lease_deadline() > deadline)
        --at;
    fresh_.insert(at, h);
}

lease_book::plan lease_book::poll(tick now)
{
    plan out;
    while (!fresh_.empty() && due(fresh_.front()) <= now) {
        auto& h = fresh_.front();
        fresh_.pop_front();
        auto const left = std::chrono::floor<seconds>(h.received_at + horizon - now);
        auto const deadline = h.message.lease_deadline();
        if (now >= deadline) {
            out.lost.push_back(held_ptr(&h));
            continue;
        }
        auto at = extending_.end();
        while (at != extending_.begin() && std::prev(at)->message.lease_deadline() > deadline)
            --at;
        extending_.insert(at, h);
        auto const timeout = std::min(visibility_, left);
        if (now + timeout > deadline) out.extend.push_back({held_ptr(&h), timeout});
    }
    while (!extending_.empty() && extending_.front().message.lease_deadline() <= now) {
        out.lost.push_back(held_ptr(&extending_.front()));
        extending_.pop_front();
    }
    if (!fresh_.empty()) out.wake_at = due(fresh_.front());
    if (!extending_.empty()) {
        auto const end = extending_.front().message.lease_deadline();
        out.wake_at = std::min(out.wake_at.value_or(end), end);
    }
    return out;
}

} // namespace quern
