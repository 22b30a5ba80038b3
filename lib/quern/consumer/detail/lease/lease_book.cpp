#include <quern/consumer/detail/lease/lease_book.hpp>

namespace quern::detail {

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
    h.lease_hook::unlink();
    h.message.deadline_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
}

void lease_book::file(held& h, tick deadline)
{
    h.lease_hook::unlink();
    h.message.deadline_.store(deadline.time_since_epoch().count(), std::memory_order_relaxed);
    fresh_.insert(fresh_.end(), h);
}

lease_book::plan lease_book::poll(tick now)
{
    plan out;
    while (!fresh_.empty() && due(*fresh_.begin()) <= now) {
        auto& h = *fresh_.begin();
        fresh_.erase(fresh_.begin());
        auto const left = std::chrono::floor<seconds>(h.received_at + horizon - now);
        auto const deadline = h.message.lease_deadline();
        if (now >= deadline) {
            out.lost.push_back(held_ptr(&h));
            continue;
        }
        extending_.insert(extending_.end(), h);
        auto const timeout = std::min(visibility_, left);
        if (now + timeout > deadline) out.extend.push_back({held_ptr(&h), timeout});
    }
    while (!extending_.empty() && extending_.begin()->message.lease_deadline() <= now) {
        out.lost.push_back(held_ptr(&*extending_.begin()));
        extending_.erase(extending_.begin());
    }
    if (!fresh_.empty()) out.wake_at = due(*fresh_.begin());
    if (!extending_.empty()) {
        auto const end = extending_.begin()->message.lease_deadline();
        out.wake_at = std::min(out.wake_at.value_or(end), end);
    }
    return out;
}

} // namespace quern::detail
