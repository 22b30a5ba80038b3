#include <quern/aws/credentials/detail/refresh.hpp>

#include <algorithm>

namespace quern::aws::detail {

using std::chrono::duration_cast;
using std::chrono::nanoseconds;
using std::chrono::seconds;

namespace {

nanoseconds pause_after(int earlier_ones, seconds first, double jitter)
{
    auto const pause = std::min<seconds>(first * (1 << std::min(earlier_ones, 6)), refresh_rule::longest_pause);
    return duration_cast<nanoseconds>(pause * (1 - 0.5 * jitter));
}

} // namespace

bool refresh_rule::usable(wall_time wall) const
{
    return any_ && !refused_ && (!expires_at_ || wall < *expires_at_ - slack);
}

refresh_rule::advice refresh_rule::at(moment m) const
{
    bool const may_ask = !not_before_ || m.now >= *not_before_;
    if (!usable(m.wall)) return may_ask ? advice::wait : advice::fail;
    return renew_at_ && m.wall >= *renew_at_ && may_ask ? advice::renew : advice::use;
}

bool refresh_rule::loaded(moment m, std::optional<wall_time> expires_at, double jitter)
{
    if (expires_at && m.wall >= *expires_at - slack) return false;
    any_ = true;
    refused_ = false;
    failures_ = 0;
    not_before_.reset();
    renew_at_.reset();
    expires_at_ = expires_at;
    if (expires_at) {
        auto const window = std::min<nanoseconds>((*expires_at - m.wall) / 4, earliest);
        auto const early = duration_cast<nanoseconds>(window * (0.5 + 0.5 * jitter));
        renew_at_ = *expires_at - duration_cast<wall_time::duration>(early);
    }
    return true;
}

void refresh_rule::failed(moment m, double jitter)
{
    not_before_ = m.now + pause_after(failures_++, seconds(1), jitter);
}

bool refresh_rule::refused(moment m, double jitter)
{
    if (refused_) return true; // new ones are being asked for
    if (trust_refusals_at_ && m.now < *trust_refusals_at_) return false;
    if (trust_refusals_at_ && m.now >= *trust_refusals_at_ + longest_pause) refusals_ = 0;
    trust_refusals_at_ = m.now + pause_after(refusals_++, seconds(10), jitter);
    refused_ = any_;
    return any_;
}

} // namespace quern::aws::detail
