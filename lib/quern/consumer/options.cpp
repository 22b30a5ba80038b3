#include <quern/consumer/limits.hpp>
#include <quern/consumer/options.hpp>

namespace quern {

using namespace std::chrono_literals;

std::optional<failure> consumer_options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (rate && rate->count == 0) return rate->validate(); // for limits that are turned it means something
    if (auto const why = consumer_limits::of(*this).validate()) return why;
    if (auto const why = flag.validate()) return why;
    if (concurrency) {
        if (auto const why = concurrency->validate()) return why;
    }
    if (wait_time < 0s || wait_time > 20s) return wrong("wait_time must be from 0 to 20 s");
    if (visibility_timeout < 3s || visibility_timeout > 12h) {
        return wrong("visibility_timeout must be from 3 s, so that it can be extended in time, to 12 h");
    }
    if (settle_linger < 0ms || settle_linger > std::chrono::milliseconds(visibility_timeout) / 12) {
        return wrong(
            "settle_linger must be from 0 to a twelfth of visibility_timeout, so that leases are extended in time");
    }
    if (handler_timeout < 0ms || handler_timeout > 12h) return wrong("handler_timeout must be from 0 to 12 h");
    if (batch_size == 0) return wrong("batch_size must be at least 1");
    if (batch_window < 0ms || batch_window > 12h) return wrong("batch_window must be from 0 to 12 h");
    if (max_age != 0ms && (max_age < 1s || max_age > 14 * 24h)) {
        return wrong("max_age must be from 1 s to 14 days, for which SQS keeps a message, or 0 for any age");
    }
    if (max_tries && *max_tries < 1) return wrong("max_tries must be at least 1, or absent for any number");
    if (park_for < 1s || park_for > 12h) return wrong("park_for must be from 1 s to 12 h");
    if (on_group_failure == group_policy::skip_head && poison_queue_url.empty()) {
        return wrong("on_group_failure = skip_head needs poison_queue_url: the skipped head must go somewhere");
    }
    if (max_settle_calls < 2 || max_settle_calls > 1'000) {
        return wrong("max_settle_calls must be from 2, one of them for leases, to 1000");
    }
    if (drain_deadline < 1s || drain_deadline > 12h) return wrong("drain_deadline must be from 1 s to 12 h");
    if (stall_after != 0ms && (stall_after < 1s || stall_after > 24h)) {
        return wrong("stall_after must be from 1 s to 24 h, or 0 for never");
    }
    for (auto const& limit : {give_up_after, give_up_at_start_after}) {
        if (limit && (*limit < 0ms || *limit > 24h))
            return wrong("give_up_after and give_up_at_start_after must be from 0 to 24 h, or absent for never");
    }
    if (breaker) {
        if (auto const why = breaker->validate()) return why;
    }
    if (max_dependencies < 1 || max_dependencies > 100'000) return wrong("max_dependencies must be from 1 to 100000");
    return backoff.validate();
}

} // namespace quern
