#include <quern/producer/detail/send_queue.hpp>

#include <algorithm>

namespace quern::detail {

using place = outgoing::place;

send_queue::send_queue(producer_options const& options, bool fifo, std::uint64_t seed)
    : options_(options), fifo_(fifo), random_(seed), calls_(options.max_calls)
{}

void send_queue::add(outgoing_ptr message, tick now)
{
    message->size = sqs::message_size(message->entry.body, message->entry.attributes);
    message->number = next_number_++;
    message->give_up_at = now + options_.give_up_after;
    waiting_.emplace(message->number, message);
    outside_.emplace(message->number, std::move(message));
    admit(now);
}

/// As many into the buffer as there is room for.
void send_queue::admit(tick now)
{
    while (!outside_.empty() && held_ < options_.max_buffered) {
        auto const message = outside_.begin()->second;
        if (held_ != 0 && held_bytes_ + message->size > options_.max_buffered_bytes) return;
        outside_.erase(outside_.begin());
        ++held_;
        held_bytes_ += message->size;
        if (fifo_) {
            auto& members = groups_[*message->entry.group_id];
            members.push_back(message);
            if (members.size() > 1) {
                message->at = place::behind;
                continue;
            }
        }
        schedule(message, now);
    }
}

void send_queue::schedule(outgoing_ptr const& message, tick now)
{
    if (message->again_at > now) {
        message->at = place::later;
        later_.emplace(message->again_at, message);
    } else {
        message->at = place::ready;
        message->ready_at = now;
        ready_.emplace(std::pair(now, message->number), message);
    }
}

/// Lets the first message of a group go.
void send_queue::advance(std::string const& name, tick now)
{
    auto const found = groups_.find(name);
    auto& members = found->second;
    while (!members.empty() && members.front()->at == place::gone)
        members.pop_front();
    if (members.empty()) {
        groups_.erase(found);
    } else if (members.front()->at == place::behind) {
        schedule(members.front(), now);
    }
}

/// It is done.
void send_queue::remove(outgoing_ptr const& message, tick now)
{
    auto const number = message->number;
    waiting_.erase(number);
    under_way_.erase(number);
    ready_.erase({message->ready_at, number});
    if (outside_.erase(number) == 0) {
        --held_;
        held_bytes_ -= message->size;
    }
    auto const was = std::exchange(message->at, place::gone);
    if (fifo_ && was != place::outside) advance(*message->entry.group_id, now);
    auto group = std::move(message->entry.group_id); // observers are told of it
    message->entry = sqs::send_message_entry();      // a line may keep what is gone for a while
    message->entry.group_id = std::move(group);
    admit(now);
}

std::vector<outgoing_ptr> send_queue::take(tick now)
{
    for (auto next = later_.begin(); next != later_.end() && next->first <= now; next = later_.erase(next)) {
        if (next->second->at == place::later) schedule(next->second, now);
    }
    if (ready_.empty() || !calls_.is_free()) return {};

    std::vector<outgoing_ptr> batch;
    std::size_t bytes = 0;
    auto const put = [&](outgoing_ptr const& message) {
        bool const fits = batch.empty() ||
            (batch.size() < sqs::max_batch_entries && bytes + message->size <= sqs::max_message_bytes);
        if (fits) batch.push_back(message);
        bytes += message->size;
        return fits;
    };
    bool more = true; // fits
    for (auto next = ready_.begin(); more && next != ready_.end(); ++next) {
        more = put(next->second);
        if (!more || !fifo_ || !options_.gather_groups) continue;
        auto const& members = groups_.at(*next->second->entry.group_id);
        for (auto behind = members.begin() + 1; more && behind != members.end(); ++behind) {
            if ((*behind)->at == place::behind) more = put(*behind);
        }
    }
    bool const full = !more || batch.size() == sqs::max_batch_entries;
    bool const waited = now - batch.front()->ready_at >= options_.linger;
    auto const hurried = [this](outgoing_ptr const& message) { return message->number < hurried_; };
    if (!full && !waited && calls_.under_way() != 0 && std::ranges::none_of(batch, hurried)) return {};

    calls_.began(now);
    for (auto const& message : batch) {
        message->at = place::under_way;
        ++message->attempts;
        ready_.erase({message->ready_at, message->number});
        under_way_.insert(waiting_.extract(message->number));
    }
    return batch;
}

bool send_queue::answered(outgoing_ptr const& message, bool may_help, tick now)
{
    auto same = random_; // for all of a request: what failed together can share the next one as well
    auto const again_at = now + options_.backoff.delay(message->attempts, same);
    bool const again = may_help && !stopped_ && message->wanted && again_at < message->give_up_at &&
        message->attempts != options_.max_attempts;
    if (!again) {
        remove(message, now);
        return true;
    }
    waiting_.insert(under_way_.extract(message->number));
    message->again_at = again_at;
    message->at = place::behind;
    if (fifo_) {
        advance(*message->entry.group_id, now);
    } else {
        schedule(message, now);
    }
    return false;
}

void send_queue::returned(policy::call_end how, tick::duration took, std::size_t messages, tick now)
{
    calls_.ended(how, took, messages, is_full_request_ready(), now);
    random_.discard(1);
}

/// Roughly: bytes may fill one sooner.
producer_explanation send_queue::explain() const
{
    producer_explanation out;
    out.held = held_;
    out.bytes = held_bytes_;
    out.under_way = under_way_.size();
    out.outside = outside_.size();
    for (auto const& [number, message] : waiting_) {
        if (message->at == place::later) ++out.put_off;
        if (message->at == place::behind) ++out.behind;
    }
    out.calls = calls_.under_way();
    out.calls_now = calls_.limit();
    out.max_calls = calls_.most();
    out.call_takes = calls_.took();
    out.messages_each = calls_.messages_each();
    out.by = bound_of(out);
    return out;
}

producer_explanation::bound send_queue::bound_of(producer_explanation const& e) const
{
    using bound = producer_explanation::bound;
    auto const waits = e.held - e.under_way;
    if (e.put_off != 0 && e.put_off >= waits / 2) return bound::service;
    bool const calls = !calls_.is_free() && is_full_request_ready();
    if (calls) return calls_.is_service_bound() ? bound::service : bound::calls;
    if (e.behind != 0 && e.behind >= waits / 2) return bound::groups;
    if (e.outside == 0) return bound::nothing;
    return e.held >= options_.max_buffered ? bound::messages : bound::bytes;
}

void send_queue::withdraw(outgoing_ptr const& message, tick now)
{
    message->wanted = false;
    if (message->at != place::under_way && message->at != place::gone) remove(message, now);
}

std::vector<outgoing_ptr> send_queue::expired(tick now)
{
    std::vector<outgoing_ptr> out;
    while (!waiting_.empty() && waiting_.begin()->second->give_up_at <= now) {
        out.push_back(waiting_.begin()->second);
        remove(out.back(), now);
    }
    return out;
}

std::vector<outgoing_ptr> send_queue::stop(tick now)
{
    stopped_ = true;
    std::vector<outgoing_ptr> out;
    while (!waiting_.empty()) {
        out.push_back(waiting_.begin()->second);
        remove(out.back(), now);
    }
    return out;
}

std::optional<tick> send_queue::wake_at()
{
    std::optional<tick> first;
    auto const consider = [&](tick at) { first = std::min(first.value_or(at), at); };
    while (!later_.empty() && later_.begin()->second->at != place::later)
        later_.erase(later_.begin());
    if (!later_.empty()) consider(later_.begin()->first);
    if (!ready_.empty() && calls_.is_free()) consider(ready_.begin()->second->ready_at + options_.linger);
    if (!waiting_.empty()) consider(waiting_.begin()->second->give_up_at);
    return first;
}

std::vector<outgoing_ptr> send_queue::under_way() const
{
    std::vector<outgoing_ptr> out;
    for (auto const& [number, message] : under_way_)
        out.push_back(message);
    return out;
}

bool send_queue::passed(std::uint64_t mark) const
{
    return (waiting_.empty() || waiting_.begin()->first >= mark) &&
        (under_way_.empty() || under_way_.begin()->first >= mark);
}

} // namespace quern::detail
