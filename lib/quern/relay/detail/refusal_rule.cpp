#include <quern/relay/detail/refusal_rule.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace quern::relay::detail {

using std::chrono::seconds;

namespace {

constexpr seconds shortest_window{1}, longest_window{5};
constexpr std::chrono::milliseconds longest_idle{500}; // that counts, unless the limit makes it longer
constexpr double enough_answers = 20, enough_without_refusal = 8;
constexpr std::size_t enough_admitted = 10, remembered = 10;

constexpr double many = 0.5, some = 0.15, few = 0.05; // refusals, as parts of the answers
constexpr double above = 1.1;                         // what is admitted
constexpr double as_many = 0.8, clearly_more = 1.18;  // than was admitted before
constexpr double least = 1;                           // message a second

constexpr int steady_enough = 10;
constexpr double steps[] = {1.25, 1.5, 2, 4};

constexpr seconds usual_pause{5}, first_pause{10}, longest_pause{320};
constexpr seconds forgotten_after{600}; // a trial that failed
constexpr seconds stood{60};            // a limit that was right for so long was no mistake

wall_time next_round_time(wall_time after, seconds step)
{
    return wall_time((after.time_since_epoch() / step + 1) * step);
}

} // namespace

std::optional<double> refusal_rule::limit() const
{
    if (limit_ == 0) return {};
    return limit_;
}

void refusal_rule::pass_time(tick now)
{
    if (seen_at_ && now > *seen_at_) {
        auto const passed = now - *seen_at_;
        tick::duration most = longest_idle;
        if (limit_ != 0) most = std::max(most, tick::duration(std::llround(2e9 / limit_)));
        now_.length += under_way_ != 0 ? passed : std::min(passed, most);
        if (under_way_ == 0) now_.idle += passed;
    }
    seen_at_ = now;
}

void refusal_rule::began(tick now)
{
    pass_time(now);
    ++under_way_;
}

void refusal_rule::ended(tick now)
{
    pass_time(now);
    --under_way_;
}

std::optional<refusal_rule::change> refusal_rule::answered(counts n, tick now, wall_time wall)
{
    pass_time(now);
    if (now_.length < now_.length.zero()) return {};
    now_.admitted += n.admitted;
    now_.refused += n.refused;
    if (trial_at_ && wall >= *trial_at_) return begin_trial(wall);
    if (!is_over()) return {};
    auto const it = std::exchange(now_, window());
    auto const was = limit_;
    if (limit_ == 0)
        look_for_trial(it, wall);
    else
        limit_ = next_limit(it, wall);
    before_.push_back(it);
    if (before_.size() > remembered) before_.pop_front();
    if (limit_ == was) return {};
    if (limit_ != 0 && it.share() >= few) now_.length = -shortest_window;
    return change{limit(), it.share(), it.rate()};
}

/// Looks at full seconds only: a service that counts by the second admits all at its beginning.
bool refusal_rule::is_over()
{
    if (now_.length < now_.looked_at + shortest_window) return false;
    now_.looked_at = std::chrono::floor<seconds>(now_.length);
    if (now_.answers() == 0) return false;
    if (now_.length >= longest_window) return true;
    if (limit_ != 0 && now_.refused == 0) return now_.answers() >= enough_without_refusal;
    if (now_.answers() < enough_answers) return false;
    return limit_ != 0 || now_.admitted >= enough_admitted || now_.idle > now_.length / 4;
}

/// Leaves out one that stands out: a service's bucket was full, or two of its seconds began within the window.
double refusal_rule::usual_rate() const
{
    double best = 0, second = 0;
    for (auto const& w : before_) {
        second = std::max(second, std::min(best, w.rate()));
        best = std::max(best, w.rate());
    }
    return second;
}

/// Looks whether a trial is due. A burst that is refused for its own sake lowers what is admitted below the usual, so
/// two steady windows are wanted. Crowds need not be steady: the idle time between them has room for their messages.
void refusal_rule::look_for_trial(window const& w, wall_time now)
{
    trial_at_.reset();
    if (refuted_at_ && now - *refuted_at_ > forgotten_after) {
        refuted_at_.reset();
        pause_ = usual_pause;
    }
    if (before_.empty()) return;
    auto const& last = before_.back();
    auto const [fewer, more] = std::minmax({w.rate(), last.rate()});
    if (std::min(w.share(), last.share()) < many || fewer * above < least) return;
    bool const came_in_crowds = w.idle + last.idle > (w.length + last.length) / 4;
    bool const is_steady =
        std::min(w.admitted, last.admitted) >= enough_admitted && fewer >= as_many * std::max(more, usual_rate());
    if (!came_in_crowds && !is_steady) return;
    auto const first = refuted_at_ ? std::max(now, *refuted_at_ + pause_ / 2) : now;
    trial_at_ = next_round_time(first, pause_);
}

refusal_rule::change refusal_rule::begin_trial(wall_time now)
{
    auto const& w = before_.back();
    limit_ = above * w.rate();
    limited_at_ = now;
    raises_ = steady_ = 0;
    trial_at_.reset();
    now_ = window();
    now_.length = -shortest_window;
    return {limit(), w.share(), w.rate()};
}

double refusal_rule::next_limit(window const& w, wall_time now)
{
    if (w.share() > some) return lowered(w, now);
    bool const gains = raises_ != 0 && w.rate() > clearly_more * before_.back().rate();
    if (w.share() < few || gains) return raised(w);
    raises_ = 0;
    return ++steady_ < steady_enough ? limit_ : raised(w);
}

double refusal_rule::raised(window const& w)
{
    steady_ = 0;
    auto const last = static_cast<int>(std::size(steps)) - 1;
    if (limit_ > 2 * w.asked()) return 0;
    return limit_ * steps[std::min(raises_++, last)];
}

double refusal_rule::lowered(window const& w, wall_time now)
{
    raises_ = steady_ = 0;
    auto const next = above * w.rate();
    if (next >= least && !has_fallen(w)) return std::min(next, limit_);
    bool const anew = !refuted_at_ || now - limited_at_ > stood;
    pause_ = anew ? first_pause : std::min(2 * pause_, longest_pause);
    refuted_at_ = now;
    return 0;
}

/// Compares with the last window in which clearly more was asked for. Where messages are refused one by one, the part
/// that is admitted is the same as then; where the service has a limit, the number is. The border is between these.
bool refusal_rule::has_fallen(window const& w) const
{
    if (before_.back().asked() < 1.05 * w.asked()) return false; // no limit was lowered since
    auto const then = std::find_if(
        before_.rbegin(), before_.rend(), [&](window const& each) { return each.asked() > 1.2 * w.asked(); });
    if (then == before_.rend()) return false;
    return w.rate() < std::clamp(std::sqrt(w.asked() / then->asked()), 0.4, as_many) * then->rate();
}

} // namespace quern::relay::detail
