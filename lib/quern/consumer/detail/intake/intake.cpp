#include <quern/consumer/detail/intake/intake.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace quern::detail {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t most = 10;                      // of one receive
constexpr std::chrono::milliseconds longest_free{20}; // the longest that a free place is left unused
constexpr std::chrono::milliseconds first_poll_pause{100}, longest_poll_pause{10'000};
constexpr std::chrono::seconds between_empty_answers{1}; // at least

} // namespace

void intake::set_limits(std::size_t max_in_flight, std::size_t max_polls)
{
    max_in_flight_ = max_in_flight;
    max_polls_ = max_polls;
    target_ = std::min(target_, max_polls);
    waiting_since_.reset();
}

int intake::next_poll(std::size_t held, tick now, std::size_t more)
{
    wake_at_.reset();
    auto const taken = held + coming_;
    if (stopped_ || polls_ >= target_ || taken >= max_in_flight_ || more == 0) {
        waiting_since_.reset();
        return 0;
    }
    if (now < not_before_) {
        wake_at_ = not_before_;
        return 0;
    }
    auto const due = begun_at_ + static_cast<tick::rep>(together()) * pace_;
    if (now < due && begun_ >= together()) {
        wake_at_ = due;
        return 0;
    }
    auto const free = std::min(max_in_flight_ - taken, more);
    auto const worth_it = std::clamp<std::size_t>(max_in_flight_ / 4, 1, most);
    if (free < worth_it && held != 0) {
        if (!waiting_since_) waiting_since_ = now;
        if (now < *waiting_since_ + longest_free) {
            wake_at_ = *waiting_since_ + longest_free;
            return 0;
        }
    }
    waiting_since_.reset();
    auto const ask = std::min(free, idle_ ? worth_it : most);
    begun_ = now < due ? begun_ + 1 : 1;
    if (begun_ == 1) begun_at_ = now;
    backlog_.begins(polls_ == 0, now);
    ++polls_;
    coming_ += ask;
    return static_cast<int>(ask);
}

void intake::answered(int asked, int got, tick started, tick now)
{
    --polls_;
    coming_ -= static_cast<std::size_t>(asked);
    failures_ = 0;
    idle_ = got == 0;
    if (idle_) {
        target_ = 1;
        backlog_.empty();
        if (started + between_empty_answers > now) {
            not_before_ = std::max(not_before_, started + between_empty_answers);
        }
        return;
    }
    look_for_backlog(asked, got, started, now);
    if (backlog_.is_tried()) return;
    set_pace(asked, got, now);
    if (pace_ == tick::duration() && 2 * got >= asked) {
        target_ = std::min(2 * target_, max_polls_);
    } else if (latency_ == tick::duration() && they_wait_) {
        keep_one_waiting(now - started);
    } else if (got == 1 && asked > 1 && target_ > 1 && they_wait_ && !backlog_.is_there()) {
        --target_; // it had waited for that one: fewer receives bring as much, several at a time
    }
}

void intake::look_for_backlog(int asked, int got, tick started, tick now)
{
    auto const unknown = pace_ != tick::duration() || (2 * got < asked && target_ < max_polls_);
    switch (backlog_.answered(asked, got, unknown, started, now)) {
    case backlog::change::more:
        target_before_ = target_;
        target_ = std::min(target_ + std::min<std::size_t>(target_, 4), max_polls_);
        pace_ = {};
        break;
    case backlog::change::confirmed: target_ = std::min(2 * target_before_, max_polls_); break;
    case backlog::change::refuted: target_ = std::min(target_, target_before_); break;
    case backlog::change::none: break;
    }
}

/// Has the next message meet a receive that waits. Each of several waits the longer, the more there are. When one has
/// waited for as long as its way takes, the former is under way again before the next message comes, as a rule.
void intake::keep_one_waiting(tick::duration took)
{
    if (took < 2 * backlog_.quickest())
        target_ = std::min(target_ + 1, max_polls_);
    else if (took > 4 * backlog_.quickest() && target_ > 2)
        --target_;
}

/// The time in which two thirds of an answer arrive, so that few answers are full while all that has arrived fits
/// into one, with as many receives as begin while one is under way; four fifths where several begin together and
/// share the chance. A full one among others is chance, and the next receive follows at once; where all that are
/// under way come back full there is a backlog, for which nobody waits.
void intake::set_pace(int asked, int got, tick now)
{
    constexpr double fade = 7.0 / 8;
    full_ = got == asked ? full_ + 1 : 0;
    auto const since = now - std::exchange(brought_at_, now);
    if (since > 20 * latency_) { // what was before says nothing
        arriving_ = {};
        arrived_ = 0;
        pace_ = {};
        return;
    }
    arriving_ = arriving_ * fade + since;
    arrived_ = arrived_ * fade + got;
    if (full_ >= together()) {
        begun_at_ = {};
        if (full_ > polls_ + together()) pace_ = {};
        return;
    }
    if (backlog_.is_there()) {
        pace_ = {};
        return;
    }
    auto const each = arriving_ / arrived_;
    auto const most_of_one = each * asked * (together() == 1 ? 2.0 / 3 : 4.0 / 5);
    auto const pause = std::min<std::chrono::duration<double>>(most_of_one, latency_);
    auto const was_paced = pace_ != tick::duration();
    pace_ = they_wait_ && pause > 2 * each ? std::chrono::duration_cast<tick::duration>(pause) : tick::duration();
    if (pace_ == tick::duration()) return;
    if (!was_paced) begun_ = together();
    auto const begin_during_one = static_cast<std::size_t>(backlog_.quickest() / most_of_one);
    auto const at_once = begin_during_one + together();
    target_ = std::max(target_, std::min(at_once, max_polls_));
}

/// Receives that are due within a moment begin at once: they and, as a rule, their answers cost one wake.
std::size_t intake::together() const
{
    auto const moment = std::min<tick::duration>(latency_ / 5, 1ms);
    return pace_ == tick::duration() ? 1 : std::max<std::size_t>(1, static_cast<std::size_t>(moment / pace_));
}

/// One of many that fails says little of the others: half as many go on, after a pause that is shorter by as much.
void intake::failed(int asked, tick now)
{
    --polls_;
    coming_ -= static_cast<std::size_t>(asked);
    backlog_.failed();
    if (now < not_before_) return; // one of several that failed together
    auto const first = static_cast<double>(first_poll_pause.count()) / static_cast<double>(target_);
    auto const pause =
        std::min<double>(first * std::pow(2.0, failures_), static_cast<double>(longest_poll_pause.count()));
    target_ = std::max<std::size_t>(target_ / 2, 1);
    failures_ = std::min(failures_ + 1, 16);
    std::uniform_real_distribution<double> jitter(pause / 2, pause);
    not_before_ = now +
        std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double, std::milli>(jitter(random_)));
}

} // namespace quern::detail
