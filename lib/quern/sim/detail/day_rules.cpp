#include <quern/sim/detail/day_rules.hpp>

#include <quern/sim/detail/limit_book.hpp>

#include <algorithm>
#include <cstddef>

namespace quern::sim::detail {

std::vector<scenario> days_of(scenario const& day)
{
    std::vector<scenario> out(std::max<std::size_t>(day.versions.size(), 1), day);
    for (std::size_t i = 0; i < day.versions.size(); ++i) {
        out[i].consumer = day.versions[i].consumer;
        out[i].jitter = day.versions[i].jitter;
        out[i].batches = day.versions[i].batches;
    }
    return out;
}

witness::rules rules_of(scenario const& day, bool acks_unseen)
{
    witness::rules out;
    out.limits = seen_limits(day, day.consumer.limits);
    out.ordered = day.groups > 0;
    out.batches = day.batches;
    out.keeps_rejected = day.consumer.poison_queue.has_value() || day.max_receives > 0;
    out.max_receives = day.max_receives;
    out.most_dead = day.most_dead;
    out.damaged = judge_damaged(day);
    out.acks_unseen = acks_unseen || day.handlers.insists > 0;
    out.lease = day.consumer.visibility_timeout;
    auto const& turns = day.consumer.fairness;
    out.looks_ahead = turns.look_ahead || turns.tenant_concurrency; // then its surplus goes back
    out.handler_timeout = day.consumer.handler_timeout.value_or(std::chrono::milliseconds(0));
    out.age_counts = day.counts_age;
    out.tenant = [&day](int number) { return tenant_of(day, number); };
    out.speeds = day.speeds;
    for (int i = 0; i < day.messages; ++i)
        if (is_poisoned(day, i)) out.poisoned.insert(i);
    out.dead_within = day.dead_within;
    return out;
}

} // namespace quern::sim::detail
