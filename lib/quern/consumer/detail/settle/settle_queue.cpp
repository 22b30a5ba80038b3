#include <quern/consumer/detail/settle/settle_queue.hpp>

#include <algorithm>

namespace quern::detail {

using std::chrono::milliseconds;

namespace {

constexpr std::size_t full = 10; // entries of a batch call
constexpr milliseconds first_pause{50}, longest_pause{5'000};

/// Overtaken: the message has been given back meanwhile, or has left, or its lease is over and may be another's; or a
/// redelivery has made another extension due; or the lease was lost after its handler, still running, had asked for
/// the delete.
bool is_void(settlement const& entry, tick now)
{
    auto const& h = *entry.what;
    if (h.life.is(message_life::state::gone)) return true;
    if (entry.why == settlement::purpose::remove) return !h.life.wants_delete();
    if (entry.why != settlement::purpose::extend) return false;
    return !h.life.wants_extension() || entry.extension != h.extensions || h.message.lease_deadline() <= now;
}

/// Ranks as one that was sent before: its message is being deleted, so it has a second chance where others have one.
bool gives_way(settlement const& entry)
{
    auto const has_given_way = entry.rank >= entry.what->message.lease_deadline();
    return entry.why == settlement::purpose::extend && !has_given_way && entry.what->life.wants_delete();
}

bool later(settlement const& a, settlement const& b)
{
    return a.rank != b.rank ? a.rank > b.rank : a.asked_at > b.asked_at;
}

} // namespace

void settlements_by_rank::push(settlement entry)
{
    if (in_order_.empty() || !later(in_order_.back(), entry)) return in_order_.push_back(std::move(entry));
    apart_.push_back(std::move(entry));
    std::ranges::push_heap(apart_, later);
}

settlement settlements_by_rank::pop()
{
    if (!apart_is_first()) {
        auto out = std::move(in_order_.front());
        in_order_.pop_front();
        return out;
    }
    std::ranges::pop_heap(apart_, later);
    auto out = std::move(apart_.back());
    apart_.pop_back();
    return out;
}

bool settlements_by_rank::apart_is_first() const
{
    return !apart_.empty() && (in_order_.empty() || later(in_order_.front(), apart_.front()));
}

void settle_queue::line::push(settlement entry)
{
    oldest = entries.empty() ? entry.asked_at : std::min(oldest, entry.asked_at);
    entries.push(std::move(entry));
}

void settle_queue::line::tidy(tick now, milliseconds lease)
{
    while (!entries.empty()) {
        auto const& first = entries.first();
        auto const deadline = first.what->message.lease_deadline();
        auto const over = first.rank <= now && deadline <= now;
        auto const dropped = is_void(first, now);
        if (!over && !dropped && !gives_way(first)) return;
        auto entry = entries.pop();
        if (dropped) continue;
        entry.rank = over ? now + lease : deadline;
        push(std::move(entry));
    }
}

bool settle_queue::line::due(tick now, milliseconds linger, bool more_to_come) const
{
    return !entries.empty() && (entries.size() >= full || !more_to_come || now - oldest >= linger);
}

void settle_queue::enqueue(settlement entry)
{
    entry.rank = entry.what->message.lease_deadline() - (entry.attempts == 0 ? may_hang_ : milliseconds(0));
    auto const to = entry.why == settlement::purpose::remove ? call::remove
        : entry.why == settlement::purpose::hand_off         ? call::hand_off
                                                             : call::change;
    lines_[static_cast<std::size_t>(to)].push(std::move(entry));
}

std::size_t settle_queue::size() const
{
    auto out = later_.size();
    for (auto const& waiting : lines_)
        out += waiting.entries.size();
    return out;
}

void settle_queue::add(settlement entry, tick now)
{
    entry.asked_at = now;
    if (entry.why == settlement::purpose::extend) entry.extension = ++entry.what->extensions;
    enqueue(std::move(entry));
}

void settle_queue::add_again(settlement entry, tick now)
{
    auto const pause = std::min(first_pause * (1 << std::min(entry.attempts, 10)), longest_pause);
    std::uniform_int_distribution<milliseconds::rep> jitter(pause.count() * 3 / 4, pause.count());
    // What fails within a quarter of the pause goes together, or a call of ten would come back as ten calls.
    tick const due = now + milliseconds(jitter(random_));
    auto const slot = std::chrono::duration_cast<tick::duration>(pause) / 4;
    ++entry.attempts;
    later_.emplace(due - (due - tick(phase_)) % slot, std::move(entry));
}

std::optional<settle_queue::batch> settle_queue::take(tick now, bool more_to_come, bool only_changes)
{
    while (!later_.empty() && later_.begin()->first <= now)
        enqueue(
            std::move(later_.extract(later_.begin()).mapped())); // its asked_at is old: it goes with the next request

    batch out;
    line* from = nullptr;
    for (auto& waiting : lines_) {
        auto const what = static_cast<call>(&waiting - lines_.data());
        waiting.tidy(now, lease_);
        if (!waiting.due(now, linger_, more_to_come) || (only_changes && what != call::change)) continue;
        if (from && !later(from->entries.first(), waiting.entries.first())) continue;
        from = &waiting;
        out.what = what;
    }
    if (!from) return {};
    out.entries.reserve(std::min(full, from->entries.size()));
    while (out.entries.size() < full && !from->entries.empty()) {
        out.entries.push_back(from->entries.pop());
        from->tidy(now, lease_);
    }
    from->oldest = now;
    if (from->entries.size() >= full) return out; // due anyway
    from->entries.for_each([&](settlement const& left) { from->oldest = std::min(from->oldest, left.asked_at); });
    return out;
}

std::optional<tick> settle_queue::wake_at(bool only_changes) const
{
    std::optional<tick> first;
    auto const consider = [&](tick at) { first = std::min(first.value_or(at), at); };
    for (auto const& waiting : lines_) {
        auto const may_go = !only_changes || &waiting == &lines_[static_cast<std::size_t>(call::change)];
        if (may_go && !waiting.entries.empty()) consider(waiting.oldest + linger_);
    }
    if (!later_.empty()) consider(later_.begin()->first);
    return first;
}

settled judge(settlement const& entry, result<void> const& answer, tick now)
{
    if (answer) {
        // Redelivered meanwhile: SQS accepts an older handle, but the message may still be there.
        auto const of_the_receive =
            entry.why == settlement::purpose::remove || entry.why == settlement::purpose::postpone;
        return of_the_receive && !entry.has_newest_handle() ? settled::again : settled::done;
    }
    if (answer.error().code == errc::receipt_expired) {
        return entry.has_newest_handle() ? settled::lost : settled::again; // only the newest handle says that
    }
    // An extension that left in time may have been carried out: only its answer can say that the lease is over.
    auto const undecided = entry.why != settlement::purpose::extend && entry.what->life.is_extending();
    return undecided || now < entry.what->message.lease_deadline() ? settled::again : settled::lost;
}

} // namespace quern::detail
