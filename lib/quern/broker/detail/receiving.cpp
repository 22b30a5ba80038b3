#include <quern/broker/detail/answer.hpp>
#include <quern/broker/detail/engine_state.hpp>

#include <algorithm>

namespace quern::broker {

using std::chrono::seconds;

result<received> engine::receive_message(sqs::receive_message_request request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    auto& from = **found;
    if (auto bad = check_receive(request, from.settings())) return *bad;

    received out;
    out.answer = state_->take(from, request, now);
    state_->serve(now);
    if (!out.answer.messages.empty()) return out;

    auto const wait = request.wait_time.value_or(seconds(from.settings().wait_time));
    if (wait == seconds(0)) {
        // At the limit a short poll of a standard queue is refused; a long poll and a FIFO queue just have nothing
        // (SQS developer guide, in-flight messages).
        if (!from.fifo() && from.in_flight() >= state_->options.max_in_flight) {
            return fail(
                error::over_limit, "Too many messages are in flight: " + std::to_string(from.in_flight()) + ".");
        }
        return out;
    }

    auto const id = ++state_->last_number;
    auto poll = std::make_unique<parked_poll>(id, from, std::move(request));
    state_->times.arm(*poll, now + wait);
    from.polls.push_back(*poll);
    state_->polls.emplace(id, std::move(poll));
    out.parked = id;
    return out;
}

void engine::state::serve(instant now)
{
    while (!awake_.empty()) {
        auto& from = *awake_.back();
        awake_.pop_back();
        while (!from.polls.empty() && from.visible() != 0) {
            auto& first = from.polls.front();
            auto answer = take(from, first.request, now);
            if (answer.messages.empty()) break; // all are blocked, or too many are in flight
            auto const attempt_id = first.request.attempt_id;
            finish(first, std::move(answer));
            if (attempt_id) repeat(from, *attempt_id, now);
        }
    }
}

/// Answers the polls that repeat this attempt id, whose callers have lost the connection of the first: they get what
/// that one got.
void engine::state::repeat(queue& from, std::string const& attempt_id, instant now)
{
    for (auto at = from.polls.begin(); at != from.polls.end();) {
        auto& poll = *at++;
        if (poll.request.attempt_id != attempt_id) continue;
        auto answer = take(from, poll.request, now);
        if (!answer.messages.empty()) finish(poll, std::move(answer));
    }
}

void engine::state::finish(parked_poll& poll, result<sqs::receive_message_response> answer)
{
    auto const id = poll.id;
    ready.push_back({id, std::move(answer)});
    polls.erase(id);
}

sqs::receive_message_response engine::state::take(
    queue& from, sqs::receive_message_request const& request, instant now)
{
    auto const timeout = request.visibility_timeout.value_or(seconds(from.settings().visibility_timeout));
    auto const until = now + timeout;

    std::vector<stored_message*> taken;
    if (request.attempt_id) taken = replay(from, *request.attempt_id, until, now);
    if (taken.empty()) {
        taken = select(from, static_cast<std::size_t>(request.max_messages), until, now);
        if (request.attempt_id && !taken.empty()) {
            attempt noted;
            for (auto const* m : taken)
                noted.parts.push_back({m->number, m->receive});
            from.note_attempt(*request.attempt_id, std::move(noted), now);
        }
    }

    auto out = pack(taken, request, receipts, from.number, options.sender_id);
    for (auto* m : taken) {
        bool const twice = !from.fifo() && faults.duplicates_message();
        if (timeout == seconds(0) || twice) from.show(*m);
    }
    return out;
}

std::vector<stored_message*> engine::state::select(queue& from, std::size_t most, instant until, instant now)
{
    std::vector<stored_message*> out;
    if (from.visible() == 0 || from.in_flight() >= options.max_in_flight) return out;
    most = std::min(most, options.max_in_flight - from.in_flight());

    for (auto* m = from.order().first(); m && out.size() < most;) {
        auto* const follower = from.order().follower(*m);
        if (auto* const dead_letters = redrive_target(from, *m)) {
            redrive(from, *m, *dead_letters, now);
            wake(*dead_letters);
        } else {
            from.receive(*m, until, now);
            ++from.counts.received;
            out.push_back(m);
        }
        m = follower ? follower : from.order().first();
    }
    return out;
}

std::vector<stored_message*> engine::state::replay(
    queue& from, std::string const& attempt_id, instant until, instant now)
{
    auto const* noted = from.find_attempt(attempt_id, now);
    if (!noted) return {};

    std::vector<stored_message*> out;
    for (auto const& [number, receive] : noted->parts) {
        auto* const m = from.find(number);
        if (!m || m->receive != receive || m->state != message_state::in_flight || m->changed) {
            from.forget_attempt(attempt_id); // deleted, changed or expired: from now on it is an id like any other
            return {};
        }
        out.push_back(m);
    }
    for (auto* m : out)
        from.hide(*m, until);
    return out;
}

queue* engine::state::redrive_target(queue& from, stored_message const& m)
{
    auto const& policy = from.settings().redrive;
    if (!policy || m.receives_here < policy->max_receive_count) return nullptr;
    return by_arn(policy->target_arn); // a deleted dead-letter queue takes nothing
}

void engine::state::redrive(queue& from, stored_message& m, queue& to, instant now)
{
    auto moved = from.take_out(m);
    ++from.counts.moved;
    auto& rest = moved->own_rest();
    rest.source_arn = from.arn;
    if (to.fifo()) {
        // SQS developer guide: a FIFO queue's message gets its id as deduplication id and is retained from now;
        // a standard queue's keeps its age.
        rest.deduplication_id.resize(hex16::uuid_size);
        moved->id.write_uuid(rest.deduplication_id.data());
        rest.sequence_number = ids.sequence_number();
        moved->retained_from = now;
    }
    to.put(std::move(moved), seconds(0), now);
}

} // namespace quern::broker
