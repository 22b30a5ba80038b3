#include <quern/tracing/message_traces.hpp>

#include <quern/metrics/collection.hpp>
#include <quern/sqs/queue_reference.hpp>
#include <quern/tracing/carrier.hpp>

#include <cstdint>
#include <utility>

namespace quern::tracing {

using telemetry::span;
using telemetry::span_kind;

namespace {

/// A safety limit. Only redeliveries of held messages stay here, so there should be few.
constexpr std::size_t most_arrivals = 10'000;

char const* name_of(handler_end how)
{
    switch (how) {
    case handler_end::returned: break;
    case handler_end::threw: return "threw";
    case handler_end::unreadable: return "unreadable";
    case handler_end::timed_out: return "timed_out";
    case handler_end::cancelled: return "cancelled";
    case handler_end::called_off: return "called_off";
    }
    return "returned";
}

char const* name_of(outcome::kind verdict)
{
    switch (verdict) {
    case outcome::kind::retry: break;
    case outcome::kind::retry_after: return "retry_after";
    case outcome::kind::ack: return "ack";
    case outcome::kind::release: return "release";
    case outcome::kind::reject: return "reject";
    case outcome::kind::unavailable: return "unavailable";
    }
    return "retry";
}

char const* name_of(message_end how)
{
    switch (how) {
    case message_end::deleted: return "deleted";
    case message_end::rejected: return "rejected";
    case message_end::put_off: return "put_off";
    case message_end::released: return "released";
    case message_end::lost: return "lost";
    case message_end::came_again: break;
    }
    return "came_again";
}

/// Null if the handler succeeded or released the message; else the type of the error.
char const* error_of(handler_end how, outcome::kind verdict)
{
    if (how != handler_end::returned) return name_of(how);
    bool const good = verdict == outcome::kind::ack || verdict == outcome::kind::release;
    return good ? nullptr : name_of(verdict);
}

std::string sentence_of(handler_end how, outcome::kind verdict)
{
    switch (how) {
    case handler_end::returned: return std::string("the handler returned ") + name_of(verdict);
    case handler_end::threw: return "the handler threw an exception";
    case handler_end::unreadable: return "the handler could not read the message";
    case handler_end::timed_out: return "the handler took too long, and was cancelled";
    case handler_end::cancelled: return "the handler was cancelled: a drain ran out of time";
    case handler_end::called_off: break;
    }
    return {};
}

void fail(span& s, std::string type, std::string why)
{
    s.failed = true;
    s.add("error.type", std::move(type));
    s.why = std::move(why);
}

wall_time later(wall_time at, tick::duration by)
{
    return at + std::chrono::duration_cast<wall_time::duration>(by);
}

} // namespace

message_traces::message_traces(
    std::shared_ptr<tracer> to, std::string queue_url, std::shared_ptr<observer> next, correlation how)
    : forwarding_observer(std::move(next)), tracer_(std::move(to)), url_(std::move(queue_url)),
      queue_(sqs::queue_name_in(url_)), how_(how)
{}

std::optional<telemetry::trace_context> message_traces::context_of(std::string_view id) const
{
    std::lock_guard const held(lock_);
    auto const at = here_.find(id);
    if (at == here_.end()) return {};
    return at->second.self;
}

span message_traces::span_of(char const* operation, char const* type, span_kind kind) const
{
    span out;
    out.name = std::string(operation) + ' ' + queue_;
    out.kind = kind;
    out.attributes.reserve(10);
    out.add("messaging.system", "aws_sqs");
    out.add("messaging.operation.name", operation);
    out.add("messaging.operation.type", type);
    out.add("messaging.destination.name", queue_);
    out.add("aws.sqs.queue.url", url_);
    return out;
}

void message_traces::receive_ended(result<sqs::receive_message_response> const& got, wall_time began)
{
    bool const is_empty = got && got->messages.empty() && got->damaged.empty();
    if (is_empty) return;
    auto s = span_of("receive", "receive", span_kind::client);
    s.self = tracer_->begin(nullptr);
    s.began = began;
    s.ended = tracer_->time().wall();
    if (!got) {
        auto const& why = got.error();
        fail(s, why.service_code.empty() ? why.code.message() : why.service_code, describe(why));
        return tracer_->end(std::move(s));
    }
    auto const count = got->messages.size() + got->damaged.size();
    s.add("messaging.batch.message_count", static_cast<std::int64_t>(count));
    {
        std::lock_guard const held(lock_);
        if (arrived_.size() >= most_arrivals) arrived_.clear();
        for (auto const& m : got->messages) {
            life one;
            one.from = tracing::context_of(m);
            if (s.self.sampled) one.answer = s.self;
            if (one.from) s.links.push_back({*one.from, {{"messaging.message.id", std::string(m.id)}}});
            arrived_.insert_or_assign(std::string(m.id), std::move(one));
        }
    }
    tracer_->end(std::move(s));
}

telemetry::trace_context message_traces::begin_process(life const& of)
{
    return tracer_->begin(how_ == correlation::parent && of.from ? &*of.from : nullptr);
}

void message_traces::received(observed_message const& m)
{
    forwarding_observer::received(m);
    std::lock_guard const held(lock_);
    auto const at = arrived_.find(m.id);
    life one; // of a damaged message nothing is known
    if (at != arrived_.end()) {
        one = std::move(at->second);
        arrived_.erase(at);
    }
    one.attempt = m.receive_count;
    one.self = begin_process(one);
    here_.insert_or_assign(std::string(m.id), std::move(one));
}

void message_traces::began(observed_message const& m)
{
    forwarding_observer::began(m);
    std::lock_guard const held(lock_);
    auto const at = here_.find(m.id);
    if (at == here_.end()) return;
    auto& its = at->second;
    if (its.has_run) its.self = begin_process(its); // an outage has kept it here: it runs once more
    its.began = tracer_->time().wall();
    its.runs = its.has_run = true;
}

void message_traces::end_process(
    life& its, std::string_view id, char const* error, std::string why, char const* outcome)
{
    its.runs = false;
    auto const extensions = std::exchange(its.extensions, 0); // it may run again
    if (!its.self.sampled) return;
    auto s = span_of("process", "process", span_kind::consumer);
    s.self = its.self;
    s.began = its.began;
    s.ended = its.ended;
    if (how_ == correlation::parent && its.from) s.parent = its.from->span;
    s.add("messaging.message.id", std::string(id));
    s.add("quern.message.receive_count", std::int64_t(its.attempt));
    if (outcome) s.add("quern.outcome", outcome);
    if (extensions != 0) s.add("quern.lease.extensions", std::int64_t(extensions));
    s.links.reserve(2);
    if (its.from) s.links.push_back({*its.from});
    if (its.answer) s.links.push_back({*its.answer});
    if (error) fail(s, error, std::move(why));
    tracer_->end(std::move(s));
}

void message_traces::ended(observed_message const& m, handler_end how, outcome::kind verdict)
{
    forwarding_observer::ended(m, how, verdict);
    std::lock_guard const held(lock_);
    auto const at = here_.find(m.id);
    if (at == here_.end() || !at->second.runs) return;
    auto& its = at->second;
    its.ended = later(its.began, m.handled);
    if (how == handler_end::called_off) { // it had not begun, after all
        its.runs = its.has_run = false;
        return;
    }
    if (its.is_lost)
        return end_process(its, m.id, "lease_lost", "the lease was lost: the outcome is dropped", nullptr);
    end_process(its, m.id, error_of(how, verdict), sentence_of(how, verdict), name_of(verdict));
}

void message_traces::lease_extended(observed_message const& m, std::chrono::seconds by)
{
    forwarding_observer::lease_extended(m, by);
    std::lock_guard const held(lock_);
    if (auto const at = here_.find(m.id); at != here_.end()) ++at->second.extensions;
}

void message_traces::lease_lost(observed_message const& m)
{
    forwarding_observer::lease_lost(m);
    std::lock_guard const held(lock_);
    if (auto const at = here_.find(m.id); at != here_.end()) at->second.is_lost = true;
}

void message_traces::settled(observed_message const& m, message_end how, std::chrono::seconds again)
{
    forwarding_observer::settled(m, how, again);
    std::lock_guard const held(lock_);
    bool const is_back = how == message_end::came_again; // what has arrived is its next life
    if (auto const unseen = arrived_.find(m.id); unseen != arrived_.end() && !is_back) arrived_.erase(unseen);
    auto const at = here_.find(m.id);
    if (at == here_.end()) return;
    auto const its = std::move(at->second);
    here_.erase(at);
    if (is_back || !its.self.sampled || (how == message_end::lost && !its.has_run)) return;

    bool const deletes = how == message_end::deleted || how == message_end::rejected;
    auto s = span_of(deletes ? "delete" : "change_visibility", "settle", span_kind::client);
    s.self = tracer_->begin(&its.self);
    s.self.sampled = true; // as the message's trace is
    if (its.has_run) s.parent = its.self.span;
    if (!its.has_run && its.from) s.parent = its.from->span;
    s.began = its.has_run ? its.ended : tracer_->time().wall();
    s.ended = its.has_run ? later(its.ended, m.settling) : s.began;
    s.add("messaging.message.id", std::string(m.id));
    s.add("quern.outcome", name_of(how));
    if (how == message_end::put_off) s.add("quern.again_after", std::int64_t(again.count()));
    if (how == message_end::lost) fail(s, "lease_lost", "the lease was lost: the message comes again");
    tracer_->end(std::move(s));
}

/// Ends what is left, since nothing else will.
void message_traces::drain_ended(drain_report const& report)
{
    forwarding_observer::drain_ended(report);
    std::lock_guard const held(lock_);
    for (auto& [id, its] : here_) {
        if (!its.runs) continue;
        its.ended = tracer_->time().wall();
        end_process(its, id, "drain_ended", "the drain ended before the handler", nullptr);
    }
    here_.clear();
    arrived_.clear();
}

} // namespace quern::tracing
