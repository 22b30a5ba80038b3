#include <quern/sim/detail/limit_book.hpp>

#include <algorithm>
#include <limits>

namespace quern::sim::detail {

namespace {

constexpr std::size_t any = std::numeric_limits<std::size_t>::max();

std::string more_than(std::size_t n, std::size_t most)
{
    return std::to_string(n) + ", more than " + std::to_string(most);
}

} // namespace

limit_book::limit_book(consumer_limits const& all)
    : before_(all), now_(all), bound_(limit(&consumer_limits::max_in_flight, tick::max()))
{}

/// The greater one of the old and the new at the moment at which they were turned.
template <class Which>
std::size_t limit_book::limit(Which consumer_limits::*which, tick now) const
{
    auto const one = [](std::optional<std::size_t> n) { return n.value_or(any); };
    auto const is = one(now_.*which);
    return now == turned_at_ ? std::max(is, one(before_.*which)) : is;
}

void limit_book::turn(consumer_limits const& to, tick now)
{
    before_ = now_;
    now_ = to;
    turned_at_ = now;
    bound_ = std::max(bound_, limit(&consumer_limits::max_in_flight, tick::max()));
    started_ = 0;
    counts_from_ = now;
}

std::string limit_book::holds(std::size_t held)
{
    auto const bound = bound_;
    auto const most = limit(&consumer_limits::max_in_flight, tick::max());
    bound_ = std::max(most, std::min(bound_, held + coming_));
    return held <= bound ? "" : "holds " + std::to_string(held) + " messages, more than " + std::to_string(bound);
}

std::string limit_book::asks(std::size_t most, std::optional<std::size_t> held, bool again, tick now)
{
    ++open_;
    coming_ += most;
    if (again) { // its place was kept meanwhile
        bound_ = std::max(bound_, held.value_or(0) + coming_);
        return {};
    }
    auto const polls = limit(&consumer_limits::max_polls, now);
    if (open_ > polls) return "has receives open: " + more_than(open_, polls);
    auto const all = limit(&consumer_limits::max_in_flight, now);
    if (held && *held + coming_ > all)
        return "asks for messages that it has no place for, with those it holds and those asked for: " +
            more_than(*held + coming_, all);
    return {};
}

void limit_book::answered(std::size_t most)
{
    open_ -= std::min<std::size_t>(open_, 1);
    coming_ -= std::min(coming_, most);
}

std::string limit_book::starts(std::size_t running, tick now)
{
    if (running > bound_) return "runs more than " + std::to_string(bound_) + " handlers";
    auto const most = limit(&consumer_limits::handler_concurrency, now);
    if (running > most) return "starts a handler beside others: " + more_than(running, most);
    if (now == turned_at_) return {};
    if (!counts_from_) counts_from_ = now;
    ++started_;
    if (!now_.rate) return {};
    auto const& rate = *now_.rate;
    auto const times = std::chrono::duration<double>(now - *counts_from_) / std::chrono::duration<double>(rate.per);
    auto const allowed = static_cast<double>(rate.burst) + times * static_cast<double>(rate.count) + 1;
    if (static_cast<double>(started_) <= allowed) return {};
    return "starts " + std::to_string(started_) + " handlers, faster than " + to_string(rate);
}

consumer_limits seen_limits(scenario const& day, consumer_limits limits)
{
    if (limits.handler_concurrency && day.batches) *limits.handler_concurrency *= day.consumer.batch.size;
    auto const stands_still = [](incident const& i) { return i.what == incident::kind::pause; };
    auto const late = day.batches || day.threads != 0 || day.handlers.blocks > 0 ||
        std::ranges::any_of(day.incidents, stands_still); // a handler may start later than it is let
    if (late) limits.rate.reset();
    return limits;
}

std::optional<std::size_t> limit_book::bytes(tick now) const
{
    auto const most = limit(&consumer_limits::max_bytes_in_flight, now);
    return most == any ? std::optional<std::size_t>() : most;
}

} // namespace quern::sim::detail
