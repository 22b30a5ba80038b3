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
constexpr std::chrono::milliseconds longest_pace{5};     // half of what a delete waits for others

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
    if (now < begun_at_ + pace_) {
        wake_at_ = begun_at_ + pace_;
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
    auto const ask = std::min(free, most);
    begun_at_ = now;
    ++polls_;
    coming_ += ask;
    return static_cast<int>(ask);
}

void intake::answered(int asked, int got, tick started, tick now)
{
    --polls_;
    coming_ -= static_cast<std::size_t>(asked);
    failures_ = 0;
    if (got == 0) {
        target_ = 1;
        if (started + between_empty_answers > now) {
            not_before_ = std::max(not_before_, started + between_empty_answers);
        }
        return;
    }
    set_pace(asked, got, now);
    if (pace_ == tick::duration() && 2 * got >= asked) {
        target_ = std::min(2 * target_, max_polls_);
    } else if (got == 1 && asked > 1 && target_ > 1 && they_wait_) {
        --target_; // it had waited for that one: fewer receives bring as much, several at a time
    }
}

/// The time in which two thirds of an answer arrive, so that few answers are full while all that has arrived fits
/// into one. A full one among others is chance, and the next receive follows at once; where all that are under way
/// come back full there is a backlog, for which nobody waits.
void intake::set_pace(int asked, int got, tick now)
{
    constexpr double fade = 7.0 / 8;
    full_ = got == asked ? full_ + 1 : 0;
    auto const since = now - std::exchange(brought_at_, now);
    if (since > 20 * longest_pace) { // what was before says nothing
        arriving_ = {};
        arrived_ = 0;
        pace_ = {};
        return;
    }
    arriving_ = arriving_ * fade + since;
    arrived_ = arrived_ * fade + got;
    if (full_ != 0) {
        begun_at_ = {};
        if (full_ > polls_ + 1) pace_ = {};
        return;
    }
    auto const each = arriving_ / arrived_;
    auto const pause = std::min<std::chrono::duration<double>>(each * asked * 2 / 3, longest_pace);
    pace_ = they_wait_ && pause > 2 * each ? std::chrono::duration_cast<tick::duration>(pause) : tick::duration();
}

void intake::failed(int asked, tick now)
{
    --polls_;
    coming_ -= static_cast<std::size_t>(asked);
    target_ = 1;
    if (now < not_before_) return; // one of several that failed together
    auto const pause = std::min<double>(static_cast<double>(first_poll_pause.count()) * std::pow(2.0, failures_),
        static_cast<double>(longest_poll_pause.count()));
    failures_ = std::min(failures_ + 1, 16);
    std::uniform_real_distribution<double> jitter(pause / 2, pause);
    not_before_ = now + std::chrono::milliseconds(static_cast<std::int64_t>(jitter(random_)));
}

} // namespace quern::detail
