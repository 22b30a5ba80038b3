#include <quern/aws/refresh.hpp>

#include <algorithm>

namespace quern::aws {

using std::chrono::duration_cast;
using std::chrono::nanoseconds;
using std::chrono::seconds;

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
    auto const doublings = std::min(failures_++, 6);
    auto const pause = std::min<seconds>(seconds(1 << doublings), longest_pause);
    not_before_ = m.now + duration_cast<nanoseconds>(pause * (1 - 0.5 * jitter));
}

bool refresh_rule::refused(moment m)
{
    if (refused_) return true; // new ones are being asked for
    if (trust_refusals_at_ && m.now < *trust_refusals_at_) return false;
    trust_refusals_at_ = m.now + longest_pause;
    refused_ = any_;
    return any_;
}

} // namespace quern::aws
