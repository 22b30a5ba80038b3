#pragma once

#include <quern/sim/scenario.hpp>

#include <chrono>
#include <cstddef>
#include <optional>

namespace quern::sim::detail {

/// Calls v(name, rate, none) for each fault.
template <class Rates, class V>
void each_fault(Rates& r, V v)
{
    v("latency", r.latency, 0.0);
    v("throttled", r.throttled, 0.0);
    v("access_denied", r.access_denied, 0.0);
    v("server_error", r.server_error, 0.0);
    v("dropped_before", r.dropped_before, 0.0);
    v("dropped_after", r.dropped_after, 0.0);
    v("half_open", r.half_open, 0.0);
    v("truncated", r.truncated, 0.0);
    v("slow", r.slow, 0.0);
    v("entry_failed", r.entry_failed, 0.0);
    v("duplicated", r.duplicated, 0.0);
    v("short_answer", r.short_answer, 0.0);
    v("receipt_expired", r.receipt_expired, 0.0);
}

/// Calls v(name, field, its simplest value) for each number, switch and setting of a day: those that matter most to a
/// reader first. Lists have none.
template <class Day, class V>
void each_field(Day& s, V v)
{
    using std::chrono::milliseconds;
    v("messages", s.messages, 1);
    v("processes", s.processes, 1);
    v("together", s.together, 1);
    v("queues", s.queues, 1);
    v("tenants", s.tenants, 0);
    v("groups", s.groups, s.groups == 0 ? 0 : 1); // FIFO stays FIFO
    v("sent_within", s.sent_within, milliseconds(0));
    v("longest_body", s.longest_body, std::size_t(0));
    v("connections", s.connections, std::size_t(0));
    v("max_receives", s.max_receives, 0);
    v("receives_before", s.receives_before, 0);
    v("lowered_at", s.lowered_at, milliseconds(0));
    v("poisoned", s.poisoned, 0);
    v("short_answers", s.short_answers, 0.0);
    v("on_a_pool", s.on_a_pool, false);
    v("batches", s.batches, false);
    v("functions", s.functions, false);
    v("threads", s.threads, 0);
    v("takes_turns", s.takes_turns, false);
    v("keyed", s.keyed, false);
    v("in_a_row", s.in_a_row, 1);
    v("fair_queue", s.fair_queue, std::optional<std::chrono::seconds>());
    v("takes", s.takes, milliseconds(0));
    v("latency", s.latency, milliseconds(1));

    auto& h = s.handlers;
    v("handlers.fails", h.fails, 0.0);
    v("handlers.backs_off", h.backs_off, 0.0);
    v("handlers.releases", h.releases, 0.0);
    v("handlers.rejects", h.rejects, 0.0);
    v("handlers.misreads", h.misreads, 0.0);
    v("handlers.condemns", h.condemns, 0.0);
    v("handlers.unavailable", h.unavailable, 0.0);
    v("handlers.hangs", h.hangs, 0.0);
    v("handlers.deaf", h.deaf, 0.0);
    v("handlers.blocks", h.blocks, 0.0);
    v("handlers.acks", h.acks, 0.0);
    v("handlers.insists", h.insists, 0.0);
    v("handlers.extends", h.extends, 0.0);
    v("handlers.guards", h.guards, 0.0);
    v("handlers.slow", h.slow, 0.0);
    v("handlers.damaged", h.damaged, 0.0);
    v("handlers.troubled_tries", h.troubled_tries, 0);

    auto& c = s.consumer;
    consumer_options const usual;
    v("consumer.handler_timeout", c.handler_timeout, usual.handler_timeout);
    v("consumer.max_age", c.max_age, usual.max_age);
    v("consumer.max_tries", c.max_tries, usual.max_tries);
    v("consumer.concurrency", c.concurrency, usual.concurrency);
    v("consumer.limits.rate", c.limits.rate, usual.limits.rate);
    v("consumer.limits.handler_concurrency", c.limits.handler_concurrency, usual.limits.handler_concurrency);
    v("consumer.limits.max_bytes_in_flight", c.limits.max_bytes_in_flight, usual.limits.max_bytes_in_flight);
    v("consumer.limits.max_in_flight", c.limits.max_in_flight, std::size_t(1));
    v("consumer.limits.max_polls", c.limits.max_polls, std::size_t(1));
    v("consumer.batch.size", c.batch.size, std::size_t(1));
    v("consumer.batch.window", c.batch.window, usual.batch.window);
    v("consumer.settle.linger", c.settle.linger, usual.settle.linger);
    v("consumer.settle.max_calls", c.settle.max_calls, std::size_t(2));
    v("consumer.wait_time", c.wait_time, usual.wait_time);
}

} // namespace quern::sim::detail
