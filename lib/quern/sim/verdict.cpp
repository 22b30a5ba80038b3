#include <quern/sim/verdict.hpp>

#include <quern/consumer/detail/conclude/thrown.hpp>

#include <random>

namespace quern::sim {

using std::chrono::milliseconds;

namespace {

bool is_tried_out(scenario const& day, int receive_count)
{
    return day.consumer.max_tries && receive_count >= *day.consumer.max_tries;
}

verdict failed(scenario const& day, int receive_count, milliseconds delay)
{
    verdict out;
    out.how = verdict::kind::failed;
    out.may_be_rejected = day.consumer.max_age || is_tried_out(day, receive_count);
    if (!out.may_be_rejected) out.delay = delay; // its age may bring the next try forward
    return out;
}

/// No age makes it too old; perhaps it waits here.
verdict found_down()
{
    verdict out;
    out.how = verdict::kind::failed;
    out.found_down = true;
    return out;
}

/// The rule rounds to whole seconds.
bool is_too_old(scenario const& day, delivery const& d, ending const& e)
{
    auto const first = d.first_received_at();
    return !first || e.at - *first - e.excused > *day.consumer.max_age - std::chrono::seconds(2);
}

verdict retried(scenario const& day, int receive_count)
{
    auto const& c = day.consumer;
    if (day.groups > 0 && c.fifo.on_failure == group_policy::skip_head) return {verdict::kind::rejected};
    if (day.groups > 0 && c.fifo.on_failure == group_policy::park_group)
        return failed(day, receive_count, c.fifo.park_for);
    if (day.groups > 0 && c.fifo.on_failure == group_policy::halt) return failed(day, receive_count, {});
    std::mt19937_64 unused;
    auto const longest = c.backoff.with(policy::jitter::none).delay(receive_count, unused);
    return failed(day, receive_count,
        milliseconds(static_cast<std::int64_t>((1 - day.jitter) * static_cast<double>(longest.count()))));
}

verdict malformed(scenario const& day, int receive_count)
{
    switch (day.consumer.on_malformed) {
    case malformed_policy::reject: return {verdict::kind::rejected};
    case malformed_policy::discard: return {verdict::kind::discarded};
    case malformed_policy::retry: break;
    }
    return retried(day, receive_count);
}

/// Nothing: as one that failed.
std::optional<outcome> classified(scenario const& day, std::exception_ptr const& thrown)
{
    return day.consumer.classify ? day.consumer.classify(thrown) : std::nullopt;
}

} // namespace

namespace {

verdict judge_by_its_end(scenario const& day, delivery const& d, ending const& e)
{
    auto const& limit = day.consumer.handler_timeout;
    auto const overdue = limit && e.took >= *limit;
    auto said = e.said;
    if (e.thrown && e.cancelled && overdue) { // or by a drain at the same moment, which releases it
        auto out = retried(day, d.receive_count());
        return {verdict::kind::failed, {}, out.rejectable()};
    }
    if (e.thrown && e.cancelled) return {};
    if (e.thrown) {
        said = classified(day, e.thrown);
        if (!said && quern::detail::is_parse_error(e.thrown)) return malformed(day, d.receive_count());
        if (!said) said = retry();
    }
    switch (said->what()) {
    case outcome::kind::ack: return {verdict::kind::succeeded};
    case outcome::kind::reject: {
        verdict out{verdict::kind::rejected};
        out.unexplained = said->reason().empty();
        return out;
    }
    case outcome::kind::release: return {verdict::kind::failed};
    case outcome::kind::retry_after: return failed(day, d.receive_count(), said->delay());
    case outcome::kind::unavailable: return found_down();
    case outcome::kind::retry: break;
    }
    return retried(day, d.receive_count());
}

} // namespace

verdict judge(scenario const& day, delivery const& d, ending const& e)
{
    auto out = judge_by_its_end(day, d, e);
    if (day.counts_age && out.may_be_rejected && !is_tried_out(day, d.receive_count()))
        out.may_be_rejected = !out.found_down && is_too_old(day, d, e);
    return out;
}

verdict judge_damaged(scenario const& day)
{
    auto out = malformed(day, 1);
    out.delay = {}; // that depends on the receive
    return out;
}

} // namespace quern::sim
