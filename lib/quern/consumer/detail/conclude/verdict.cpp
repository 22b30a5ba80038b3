#include <quern/consumer/detail/conclude/thrown.hpp>
#include <quern/consumer/detail/conclude/verdict.hpp>
#include <quern/consumer/detail/message/ascii_excerpt.hpp>
#include <quern/core/detail/what_thrown.hpp>
#include <quern/policy/detail/age.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace quern::detail {

namespace {

verdict rejected(std::string reason)
{
    verdict out;
    out.what = verdict::kind::reject;
    out.reason = ascii_excerpt(reason, 256);
    return out;
}

/// Rejection by a rule. The last word of the handler is worth more than the rule that ended it.
verdict rejected(std::string rule, outcome const& said)
{
    if (!said.found().empty()) rule += "; at last: " + std::string(said.found());
    return rejected(std::move(rule));
}

/// Nothing the first time: another consumer may have it without delay.
std::chrono::milliseconds least_delay(circumstances const& its)
{
    return its.was_just_back ? shortest_turn : std::chrono::seconds(0);
}

} // namespace

meaning meaning_of(std::exception_ptr const& thrown, bool overdue, consumer_options const& options)
{
    meaning out;
    if (options.classify && !overdue) {
        try {
            if (auto given = options.classify(thrown)) {
                out.said = *std::move(given);
                out.text = what_thrown(thrown);
                return out;
            }
        } catch (...) {
            out.level = log_level::error;
            out.cause = "classify";
            out.text = "classify threw an exception, which is ignored";
        }
    }
    if (auto said = overdue ? std::nullopt : outcome_thrown(thrown)) {
        out.said = *std::move(said);
        return out;
    }
    auto const why = overdue ? "ran for longer than handler_timeout" : what_thrown(thrown);
    if (!overdue && is_parse_error(thrown)) {
        out.malformed = true;
        out.text = why;
        return out;
    }
    out.said = retry().because(why, overdue ? 0 : status_thrown(thrown));
    if (out.cause) return out;
    out.level = log_level::warning;
    out.cause = "handler failed";
    out.text = why;
    return out;
}

meaning meaning_of_malformed(std::string const& why, std::string_view body, consumer_options const& options)
{
    meaning out;
    out.is_news = false;
    out.malformed = true;
    out.level = log_level::error;
    out.cause = "malformed message";
    out.text = why;
    if (options.log_bodies) out.text += "; it begins: " + ascii_excerpt(body, 80);
    switch (options.on_malformed) {
    case malformed_policy::reject: out.said = reject("malformed: " + why); break;
    case malformed_policy::discard: out.said = ack(); break;
    case malformed_policy::retry: out.said = retry(); break;
    }
    return out;
}

verdict verdict_of(
    outcome const& said, circumstances const& its, consumer_options const& options, std::mt19937_64& random)
{
    using kind = outcome::kind;
    verdict out;
    auto const group_fails = its.fifo && said.what() == kind::retry;
    switch (said.what()) {
    case kind::ack: out.what = verdict::kind::remove; return out;
    case kind::reject: return rejected(said.reason());
    case kind::release: out.delay = least_delay(its); return out;
    case kind::unavailable:
        out.delay = options.backoff.delay(its.receive_count, random);
        out.waits_for_head = out.delay <= longest_wait_for_head;
        return out;
    case kind::retry:
        if (group_fails && options.fifo.on_failure == group_policy::skip_head)
            return rejected("failed at the head of its group", said);
        out.delay = said.waits() ? *said.waits() : options.backoff.delay(its.receive_count, random);
        if (group_fails && options.fifo.on_failure == group_policy::park_group) out.delay = options.fifo.park_for;
        if (group_fails && options.fifo.on_failure == group_policy::halt) {
            out.delay = {};
            out.halts = true;
        }
        break;
    case kind::retry_after:
        out.delay = said.at() ? policy::detail::delay_until(*said.at(), its.now)
                              : std::max(said.delay(), std::chrono::milliseconds(0));
        out.delay = std::max(out.delay, least_delay(its));
        if (said.at()) { // it is early, and has not failed
            out.waits_for_head = out.delay <= longest_wait_for_head;
            return out;
        }
        break;
    }
    if (options.max_tries && its.receive_count >= *options.max_tries) {
        return rejected("failed in receive " + std::to_string(its.receive_count) + ", and max_tries is " +
                std::to_string(*options.max_tries),
            said);
    }
    if (options.max_age) {
        auto const within = policy::detail::within_age(its.now - its.age, its.now, out.delay, *options.max_age);
        if (!within) return rejected("older than max_age", said);
        out.delay = *within;
    }
    out.waits_for_head = out.delay <= longest_wait_for_head;
    return out;
}

} // namespace quern::detail
