#include <quern/consumer/settle_queue.hpp>

#include <algorithm>

namespace quern {

using std::chrono::milliseconds;

namespace {

constexpr std::size_t full = 10; // entries of a batch call
constexpr milliseconds first_pause{50}, longest_pause{5'000};

} // namespace

void settle_queue::add(settlement entry, tick now)
{
    entry.asked_at = now;
    auto& queue = entry.why == settlement::purpose::remove ? removals_ : changes_;
    queue.push_back(std::move(entry));
}

void settle_queue::add_again(settlement entry, tick now)
{
    auto const pause = std::min(first_pause * (1 << std::min(entry.attempts, 10)), longest_pause);
    std::uniform_int_distribution<milliseconds::rep> jitter(pause.count() / 2, pause.count());
    ++entry.attempts;
    later_.emplace(now + milliseconds(jitter(random_)), std::move(entry));
}

std::optional<settle_queue::batch> settle_queue::take(tick now, bool more_to_come)
{
    while (!later_.empty() && later_.begin()->first <= now) {
        auto entry = std::move(later_.extract(later_.begin()).mapped());
        auto& queue = entry.why == settlement::purpose::remove ? removals_ : changes_;
        queue.push_front(std::move(entry)); // its asked_at is old: it goes with the next request
    }
    if (auto removals = take_from(removals_, true, now, more_to_come)) return removals;
    return take_from(changes_, false, now, more_to_come);
}

std::optional<settle_queue::batch> settle_queue::take_from(line& from, bool removal, tick now, bool more_to_come)
{
    auto const due =
        from.size() >= full || !more_to_come || (!from.empty() && now - from.front().asked_at >= linger_);
    if (from.empty() || !due) return {};
    batch out{removal, {}};
    auto const end = from.begin() + static_cast<std::ptrdiff_t>(std::min(from.size(), full));
    out.entries.assign(std::move_iterator(from.begin()), std::move_iterator(end));
    from.erase(from.begin(), end);
    return out;
}

std::optional<tick> settle_queue::wake_at() const
{
    std::optional<tick> first;
    auto const consider = [&](tick at) { first = std::min(first.value_or(at), at); };
    if (!removals_.empty()) consider(removals_.front().asked_at + linger_);
    if (!changes_.empty()) consider(changes_.front().asked_at + linger_);
    if (!later_.empty()) consider(later_.begin()->first);
    return first;
}

settled judge(settlement const& entry, std::string_view handle, result<void> const& answer, tick now)
{
    if (answer) {
        // Redelivered meanwhile: SQS accepts an older handle, but the message may still be there.
        return entry.why != settlement::purpose::extend && handle != entry.what->handle ? settled::again
                                                                                        : settled::done;
    }
    if (answer.error().code == errc::receipt_expired) return settled::lost;
    return now < entry.what->message.lease_deadline() ? settled::again : settled::lost;
}

} // namespace quern
