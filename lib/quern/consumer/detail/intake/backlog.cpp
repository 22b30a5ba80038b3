#include <quern/consumer/detail/intake/backlog.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace quern::detail {

using namespace std::chrono_literals;

namespace {

constexpr double as_much = 0.5; // random sizes differ by so much
constexpr double still_as_much = 0.7;
constexpr double least = 0.05; // of one message of ten in each answer, half come without a wait
constexpr std::chrono::milliseconds first_pause{50}, longest_pause{2'000}; // some requests in a hundred
constexpr std::chrono::milliseconds longest_way{500};                      // an answer that took longer has waited

} // namespace

/// The part of what was asked for; none where the answer waited for a message, as its time tells beside that of the
/// quickest. Of a single one it tells more: it would be answered the sooner the more others wait.
double backlog::came(int asked, int got, tick::duration took, tick now)
{
    if (now >= since_ + 30s) {
        since_ = now;
        quickest_ = std::exchange(quickest_since_, tick::duration::max());
    }
    quickest_since_ = std::min(quickest_since_, took);
    quickest_ = std::min(quickest_, took);
    auto const at_once = took <= (got == 1 ? quickest_ * 5 / 4 : quickest_ * 3) + 1ms && took <= longest_way;
    return at_once ? static_cast<double>(got) / asked : 0;
}

backlog::change backlog::answered(int asked, int got, bool unknown, tick started, tick now)
{
    auto const part = came(asked, got, now - started, now);
    if (state_ == state::tried) {
        if (started == tried_at_) brought_.push_back(part);
        auto const patience = quickest_ * 3 + 1ms;
        auto const all = begun_ != 0 && brought_.size() == begun_;
        return all || now > tried_at_ + patience ? judge(now) : change::none;
    }
    mean_ = mean_ == 0 ? part : mean_ + (part - mean_) / 16;
    if (state_ == state::there && has_shrunk(part)) {
        state_ = state::unknown;
        return change::refuted;
    }
    if (tried_at_ == tick()) tried_at_ = now;
    auto const is_early = state_ != state::there && now < tried_at_ + pause_;
    if (!unknown || part == 0 || mean_ < least || is_early) return change::none;
    state_ = state::tried;
    expected_ = mean_;
    brought_.clear();
    begun_ = 0;
    tried_at_ = now;
    return change::more;
}

/// Receives that begin in one turn are the try, a little after the answer that asked for it.
void backlog::begins(bool alone, tick now)
{
    if (state_ != state::tried) return;
    if (begun_ == 0) {
        follows_ = alone && now <= tried_at_ + quickest_;
        tried_at_ = now;
    }
    if (now == tried_at_) ++begun_;
}

/// Judges by the half that brought the least: the first of them may have taken all that there was. Where there was
/// room for one only, that one tells as much if it followed the answer before at once, and no other was open.
backlog::change backlog::judge(tick now)
{
    tried_at_ = now;
    brought_.resize(begun_); // those that still wait have brought nothing
    std::ranges::sort(brought_);
    auto const half = begun_ == 1 && follows_ ? 1 : begun_ / 2;
    auto const least = std::accumulate(brought_.begin(), brought_.begin() + static_cast<std::ptrdiff_t>(half), 0.0);
    if (half != 0 && least >= as_much * expected_ * static_cast<double>(half)) {
        state_ = state::there;
        level_ = top_ = expected_;
        pause_ /= 2;
        return change::confirmed;
    }
    state_ = state::unknown;
    pause_ = std::clamp(2 * pause_, first_pause, longest_pause);
    return change::refuted;
}

/// More slowly than mean_ says so: random sizes may be small some times in a row.
bool backlog::has_shrunk(double part)
{
    level_ += (part - level_) / 64;
    top_ = std::max(top_, level_);
    return level_ < still_as_much * top_;
}

void backlog::failed()
{
    if (state_ == state::tried) state_ = state::unknown;
}

void backlog::empty()
{
    state_ = state::unknown;
    pause_ = first_pause;
    mean_ = 0;
}

} // namespace quern::detail
