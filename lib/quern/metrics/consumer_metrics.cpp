#include <quern/metrics/consumer_metrics.hpp>

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace quern::metrics {

using telemetry::id;
using telemetry::part;

namespace {

enum limit_series : std::size_t { messages, bytes, handlers, receives };
enum result_series : std::size_t { ok, throttled, error, timeout };

template <std::size_t N>
std::size_t series_of(std::string_view const (&known)[N], std::string_view value)
{
    return static_cast<std::size_t>(std::find(std::begin(known), std::end(known), value) - std::begin(known));
}

std::size_t operation_series(std::string_view operation)
{
    return std::min(series_of(telemetry::values::operation, operation), std::size(telemetry::values::operation) - 1);
}

result_series result_of(failure const* why)
{
    if (!why) return ok;
    if (why->code == errc::throttled) return throttled;
    return why->code == errc::timed_out ? timeout : error;
}

std::size_t verdict_series(outcome::kind verdict)
{
    switch (verdict) {
    case outcome::kind::retry:
    case outcome::kind::retry_after: break;
    case outcome::kind::ack: return 1;
    case outcome::kind::release: return 2;
    case outcome::kind::reject: return 3;
    case outcome::kind::unavailable: return 4;
    }
    return 0;
}

double in_seconds(wall_time at)
{
    return std::chrono::duration<double>(std::chrono::floor<std::chrono::milliseconds>(at.time_since_epoch()))
        .count();
}

/// Shows the limit's number, or nothing where there is no limit.
void set_limit(telemetry::numbers& n, limit_series which, std::optional<std::size_t> value)
{
    if (value.value_or(0) == 0)
        n.take_away(id::limit, which);
    else
        n.set(id::limit, which, static_cast<double>(*value));
}

} // namespace

request_metrics::request_metrics(telemetry::source_labels labels) : n_(part::client, std::move(labels)) {}

void request_metrics::request_done(sqs::observed_request const& r)
{
    auto const operation = operation_series(r.operation);
    n_.add(id::requests, operation * std::size(telemetry::values::request_result) + result_of(r.why));
    n_.record(id::request_duration, r.took, operation);
}

void request_metrics::add_to(std::vector<telemetry::reading>& to) const
{
    to.push_back(n_.read());
}

consumer_metrics::consumer_metrics(telemetry::source_labels labels)
    : n_(part::consumer, labels), looks_(part::consumer, labels), requests_(std::move(labels))
{
    for (std::size_t s = 0; s < breakers_.size(); ++s)
        n_.set(id::breaker_state, s, s == 0 ? 1 : 0);
}

void consumer_metrics::follow(consumer const& c)
{
    auto const its = c.shared_counters();
    std::lock_guard const held(lock_);
    counters_ = its;
}

void consumer_metrics::received(observed_message const&)
{
    n_.add(id::messages_received);
    ++held_;
}

void consumer_metrics::began(observed_message const& m)
{
    ++running_;
    n_.record(id::wait, m.waited);
    if (m.queued) n_.record(id::dwell, *m.queued + m.waited);
}

void consumer_metrics::ended(observed_message const& m, handler_end how, outcome::kind verdict)
{
    --running_;
    if (how == handler_end::called_off) return;
    n_.record(id::process_duration, m.handled, verdict_series(verdict));
    if (how == handler_end::returned && verdict != outcome::kind::unavailable) return;
    if (how == handler_end::unreadable) return n_.add(id::messages_malformed);
    n_.add(id::handler_failures,
        how == handler_end::timed_out               ? 1
            : how == handler_end::cancelled         ? 2
            : verdict == outcome::kind::unavailable ? 3
                                                    : 0);
}

void consumer_metrics::lease_extended(observed_message const&, std::chrono::seconds)
{
    n_.add(id::leases_extended);
}

void consumer_metrics::lease_lost(observed_message const&)
{
    n_.add(id::leases_lost);
}

void consumer_metrics::settled(observed_message const& m, message_end how, std::chrono::seconds)
{
    --held_;
    switch (how) {
    case message_end::deleted: n_.add(id::messages_settled, 0); break;
    case message_end::put_off: n_.add(id::messages_settled, 1); break;
    case message_end::released: n_.add(id::messages_settled, 2); break;
    case message_end::rejected: n_.add(id::messages_settled, 3); break;
    case message_end::lost:
    case message_end::came_again: return; // nothing was confirmed
    }
    bool const began = how == message_end::deleted || how == message_end::rejected || m.settling.count() != 0;
    if (began) n_.record(id::settle, m.settling); // what never began was put off or released
}

void consumer_metrics::breaker_changed(std::string_view, policy::breaker::phase from, policy::breaker::phase to)
{
    auto const was = static_cast<std::size_t>(from), is = static_cast<std::size_t>(to);
    n_.add(id::breaker_transitions, is);
    if (was != 0 && breakers_[was] != 0) --breakers_[was];
    if (is != 0) ++breakers_[is];
    bool all_closed = true;
    for (std::size_t s = 1; s < breakers_.size(); ++s) {
        n_.set(id::breaker_state, s, static_cast<double>(breakers_[s]));
        all_closed = all_closed && breakers_[s] == 0;
    }
    n_.set(id::breaker_state, 0, all_closed ? 1 : 0);
}

void consumer_metrics::limits_changed(observed_limits const& now)
{
    n_.set(id::limit, messages, static_cast<double>(now.places));
    n_.set(id::limit, receives, static_cast<double>(now.polls));
}

/// Counts those that it could not settle as over: they had no end of their own.
void consumer_metrics::drain_ended(drain_report const&)
{
    held_ = 0;
    running_ = 0;
}

void consumer_metrics::request_done(sqs::observed_request const& r)
{
    requests_.request_done(r);
}

void consumer_metrics::explained(explanation const& e, wall_time now)
{
    looks_.set(id::in_flight_bytes, 0, static_cast<double>(e.bytes));
    looks_.set(id::receives_open, 0, static_cast<double>(e.polls));
    looks_.set(id::last_progress, 0, in_seconds(now - e.quiet));
    if (e.oldest)
        looks_.set(id::oldest_in_flight, 0, in_seconds(now - e.oldest->age));
    else
        looks_.take_away(id::oldest_in_flight);
    max_in_flight_.store(e.limits.max_in_flight, std::memory_order_relaxed);
    set_limit(looks_, bytes, e.limits.max_bytes_in_flight);
    set_limit(looks_, handlers, e.limits.handler_concurrency);
    assert(std::ranges::all_of(e.obstacles, [](auto const& o) {
        return series_of(telemetry::values::obstacle, o.name) < std::size(telemetry::values::obstacle);
    }));
    for (std::size_t s = 0; s < std::size(telemetry::values::obstacle); ++s) {
        auto const is = std::ranges::count(e.obstacles, telemetry::values::obstacle[s], &explanation::obstacle::name);
        looks_.set(id::obstacle, s, is != 0 ? 1 : 0);
    }
    {
        std::lock_guard const held(lock_);
        tenants_ = e.tenants;
    }
    if (e.flag) looks_.set(id::flag_halted, 0, e.flag->halts ? 1 : 0);
    if (e.flag && e.flag->age) looks_.set(id::flag_read, 0, in_seconds(now - *e.flag->age));
}

void consumer_metrics::set_from_counters(telemetry::reading& to) const
{
    std::shared_ptr<consumer_numbers<counter> const> its;
    {
        std::lock_guard const held(lock_);
        its = counters_;
    }
    if (!its) return;
    std::uint64_t const empty = its->empty_polls, failed = its->failed_polls,
                        polls = its->polls; // each at its moment
    auto const put = [&](id which, std::size_t series, std::uint64_t n) {
        to.cells[telemetry::first_cell(which) + series] = n;
    };
    put(id::receives, 0, polls - std::min(polls, empty + failed));
    put(id::receives, 1, empty);
    put(id::receives, 2, failed);
    put(id::receives, 3, its->repeated_polls);
    put(id::messages_adopted, 0, its->adopted);
    put(id::messages_damaged, 0, its->damaged);
    put(id::messages_spilled, 0, its->spilled);
}

void consumer_metrics::add_to(std::vector<telemetry::reading>& to) const
{
    auto const held = static_cast<double>(held_);
    auto out = n_.read();
    auto const looked = looks_.read();
    for (auto const& i : telemetry::instruments) {
        if (i.of != part::consumer || i.what != telemetry::kind::gauge) continue;
        for (std::size_t s = 0; s < i.series(); ++s)
            if (auto const value = looked.gauge(i.which, s)) out.set(i.which, s, *value);
    }
    out.set(id::in_flight_messages, 0, held);
    out.set(id::handlers_running, 0, static_cast<double>(running_));
    // Of the limit that was set, not of what an outage leaves of it: who scales by this must not in an outage.
    auto most = static_cast<double>(max_in_flight_.load(std::memory_order_relaxed));
    if (most == 0) most = out.gauge(id::limit, messages).value_or(0);
    if (most > 0) out.set(id::saturation, 0, held / most);
    set_from_counters(out);
    to.push_back(std::move(out));
    add_tenants(to);
    requests_.add_to(to);
}

void consumer_metrics::add_tenants(std::vector<telemetry::reading>& to) const
{
    enum state_series : std::size_t { running, waiting };
    std::lock_guard const held(lock_);
    for (auto const& t : tenants_) {
        auto labels = n_.labels();
        labels.emplace_back("tenant", t.name);
        telemetry::numbers its(part::tenant, std::move(labels));
        its.set(id::tenant_messages, running, static_cast<double>(t.running));
        its.set(id::tenant_messages, waiting, static_cast<double>(t.waiting));
        its.set(id::tenant_capped, 0, t.capped ? 1 : 0);
        to.push_back(its.read());
    }
}

} // namespace quern::metrics
