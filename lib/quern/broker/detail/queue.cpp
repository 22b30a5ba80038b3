#include <quern/broker/detail/queue.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace quern::broker::detail {
namespace {

using std::chrono::seconds;

std::int64_t whole_seconds(instant t)
{
    return std::chrono::duration_cast<seconds>(t.time_since_epoch()).count();
}

std::unique_ptr<delivery_order> order_for(queue_settings const& settings, services const& with, std::uint64_t seed)
{
    if (settings.fifo) return std::make_unique<fifo_order>();
    return std::make_unique<standard_order>(with, seed);
}

} // namespace

queue::queue(services& with, std::string arn_, queue_settings settings, instant now)
    : queue(with, {++with.last_number, std::move(arn_), whole_seconds(now), whole_seconds(now), {}, {}},
          std::move(settings), now)
{}

queue::queue(services& with, queue_record const& kept, queue_settings settings, instant now)
    : timed(kind::retention), number(kept.number), arn(kept.arn), name(arn.substr(arn.rfind(':') + 1)),
      created_at(kept.created_at), modified_at(kept.modified_at), tags(kept.tags), with_(with),
      settings_(std::move(settings)), deduplicated_per_group_before_(settings_.deduplicate_per_group),
      scope_changed_at_(now), order_(order_for(settings_, with, number))
{}

queue::~queue()
{
    ages_.clear();
    order_.reset();
    polls.clear();
    messages_.clear();
    sent_.clear();
    attempts_.clear();
    shrank();
}

void queue::set(queue_settings next, instant now)
{
    modified_at = whole_seconds(now);
    if (next.deduplicate_per_group != settings_.deduplicate_per_group) {
        deduplicated_per_group_before_ = settings_.deduplicate_per_group;
        scope_changed_at_ = now;
    }
    bool const delay_changed = next.delay != settings_.delay;
    settings_ = std::move(next);
    with_.record.changed(*this);
    watch_oldest();

    // A new delay counts for the messages that a FIFO queue already has, not for those of a standard queue (SQS
    // developer guide, delay queues).
    if (!fifo() || !delay_changed || delayed_ == 0) return;
    messages_.each([&](stored_message& m) {
        if (m.state != message_state::delayed) return;
        with_.times.arm(m, m.sent_at + seconds(settings_.delay));
        with_.record.changed(m);
    });
}

void queue::put(std::unique_ptr<stored_message> owned, seconds delay, instant now)
{
    auto& m = *owned;
    if (m.number == 0) m.number = ++with_.last_number;
    m.order = ++with_.last_number;
    m.receives_here = 0;
    m.state = delay > seconds(0) ? message_state::delayed : message_state::visible;
    enter(std::move(owned));
    if (m.state == message_state::delayed) with_.times.arm(m, now + delay);
    with_.record.came(m);
}

void queue::put_back(std::unique_ptr<stored_message> owned, message_state state, instant until)
{
    auto& m = *owned;
    m.state = state == message_state::delayed ? state : message_state::visible;
    enter(std::move(owned));
    if (state != message_state::visible) with_.times.arm(m, until);
    if (state == message_state::in_flight) enter_state(m, state);
}

void queue::enter(std::unique_ptr<stored_message> owned)
{
    auto& m = *owned;
    m.home = this;
    messages_.insert(std::move(owned));
    most_held_.rose_to(messages_.size());
    if (auto* count = counter(m.state)) ++*count;
    ages_.insert(ages_.end(), m);
    order_->entered(m);
    if (!armed() || &*ages_.begin() == &m) watch_oldest();
}

std::unique_ptr<stored_message> queue::take_out(stored_message& m)
{
    order_->left(m);
    ages_.erase(ages_.iterator_to(m));
    if (auto* count = counter(m.state)) --*count;
    m.disarm();
    m.home = nullptr;
    with_.record.left(m);
    auto taken = messages_.extract(m);
    shrank();
    return taken;
}

void queue::purge(instant now)
{
    ages_.clear();
    order_ = order_for(settings_, with_, number);
    messages_.clear();
    visible_ = delayed_ = 0;
    with_.record.emptied(*this);
    sent_.clear();
    attempts_.clear();
    watch_.disarm();
    shrank();
    purged_at = now;
}

/// To be called after a removal: gives back the memory of many messages or notes, once an eighth of them is left.
void queue::shrank()
{
    if (messages_.empty()) disarm();
    bool const few_messages = most_held_.fell_to(messages_.size());
    bool const few_notes = most_noted_.fell_to(notes());
    if (few_messages || few_notes) give_back_pages();
}

void queue::receive(stored_message& m, instant until, instant now)
{
    if (m.receive_count == 0) m.first_received_at = now;
    ++m.receive_count;
    if (m.receives_here != std::numeric_limits<decltype(m.receives_here)>::max()) ++m.receives_here;
    m.receive = ++with_.last_number;
    m.received_at = now;
    m.changed = false;
    hide(m, until);
}

void queue::hide(stored_message& m, instant until)
{
    with_.times.arm(m, until);
    enter_state(m, message_state::in_flight);
    with_.record.changed(m);
}

void queue::show(stored_message& m)
{
    // A standard queue moves to the back what was received three times (SQS developer guide, CloudWatch metrics,
    // ApproximateAgeOfOldestMessage); anything else takes its old place.
    if (!fifo() && m.state == message_state::in_flight && m.receives_here >= 3) m.order = ++with_.last_number;
    m.disarm();
    enter_state(m, message_state::visible);
    with_.record.changed(m);
}

void queue::drop_expired(instant now)
{
    auto const limit = now - seconds(settings_.retention);
    while (!ages_.empty() && ages_.begin()->retained_from <= limit)
        take_out(*ages_.begin());
    watch_oldest();
}

std::string queue::deduplication_key(std::string_view group, std::string_view id, instant now) const
{
    // Seen on SQS: right after SetQueueAttributes changed the scope the old one still holds. The API reference gives
    // such a change up to 60 s.
    bool const settled = now >= scope_changed_at_ + seconds(60);
    bool const per_group = settled ? settings_.deduplicate_per_group : deduplicated_per_group_before_;
    std::string key(id);
    if (per_group) key.append(1, ' ').append(group); // neither may have a space
    return key;
}

void queue::note_sent(std::string key, sent_before answer, instant now)
{
    with_.record.sent(*this, key, now + deduplication_interval, answer);
    sent_.note(std::move(key), std::move(answer), now);
    watch_notes(now);
}

void queue::put_back_sent(std::string key, sent_before answer, instant until, instant now)
{
    sent_.note_until(std::move(key), std::move(answer), until);
    watch_notes(now);
}

void queue::note_attempt(std::string id, attempt what, instant now)
{
    attempts_.note(std::move(id), std::move(what), now);
    watch_notes(now);
}

void queue::drop_old_notes(instant now)
{
    sent_.drop_old(now);
    attempts_.drop_old(now);
    watch_notes(now);
    shrank();
}

void queue::enter_state(stored_message& m, message_state next)
{
    auto const before = m.state;
    if (before == next) return;
    if (auto* count = counter(before)) --*count;
    if (auto* count = counter(next)) ++*count;
    m.state = next;
    order_->changed(m, before);
}

std::size_t* queue::counter(message_state state)
{
    switch (state) {
    case message_state::visible: return &visible_;
    case message_state::delayed: return &delayed_;
    case message_state::in_flight: return nullptr; // the rest
    }
    return nullptr;
}

void queue::watch_notes(instant now)
{
    most_noted_.rose_to(notes());
    if (watch_.armed()) return;
    auto const sent_end = sent_.next_end(), attempts_end = attempts_.next_end();
    if (!sent_end && !attempts_end) return;
    auto const first = std::min(sent_end.value_or(instant::max()), attempts_end.value_or(instant::max()));
    with_.times.arm(watch_, std::max(first, now + seconds(1))); // not for each of many
}

void queue::watch_oldest()
{
    // Looks again when that moment comes, rather than each time the oldest is deleted.
    if (ages_.empty()) return disarm();
    with_.times.arm(*this, ages_.begin()->retained_from + seconds(settings_.retention));
}

} // namespace quern::broker::detail
