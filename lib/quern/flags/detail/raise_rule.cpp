#include <quern/flags/detail/raise_rule.hpp>

#include <algorithm>

namespace quern::flags::detail {

using namespace std::chrono_literals;

namespace {

constexpr auto lasts = 10s, again_after = 60s;
constexpr int most_doublings = 5;

} // namespace

void raise_rule::outage(bool now_is, tick now)
{
    if (!now_is)
        since_.reset();
    else if (!since_)
        since_ = now;
}

void raise_rule::finish(tick now)
{
    since_.reset();
    not_before_ = now;
}

std::optional<tick> raise_rule::next() const
{
    if (under_way_) return {};
    if (since_) return std::max(is_open_ ? written_at_ + again_after : *since_ + lasts, not_before_);
    if (is_open_) return not_before_;
    return {};
}

std::optional<bool> raise_rule::poll(tick now)
{
    auto const at = next();
    if (!at || now < *at) return {};
    under_way_ = since_.has_value();
    return under_way_;
}

void raise_rule::written(bool well, tick now)
{
    auto const word = *under_way_;
    under_way_.reset();
    if (well || word) is_open_ = word; // an answer that got lost may have opened it
    written_at_ = now;
    failures_ = well ? 0 : std::min(failures_ + 1, most_doublings);
    not_before_ = well ? now : now + 1s * (1 << failures_);
    if (!well && word) written_at_ = not_before_ - again_after;
}

std::optional<tick> raise_rule::wake_at() const
{
    return next();
}

} // namespace quern::flags::detail
