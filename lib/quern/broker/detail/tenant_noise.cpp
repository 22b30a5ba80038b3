#include <quern/broker/detail/tenant_noise.hpp>

#include <cmath>

namespace quern::broker::detail {
namespace {

// A tenant is noisy with more than a tenth of the queue's messages in flight, and thirty at least; or with more than
// a tenth of its processing time, where that is enough to say something: a minute in seconds of one message.
// Processing time is that of the last five minutes, and a tenant without a new message for so long is quiet.
constexpr std::size_t fewest = 30, one_in = 10;
constexpr std::chrono::minutes recent_for{5};
constexpr double least_time = 60;
constexpr std::chrono::minutes spell_ends_after{1};

bool is_loud(busy_time const& own, busy_time const& all, instant now)
{
    if (own.in_flight() >= fewest && own.in_flight() * one_in > all.in_flight()) return true;
    auto const time = all.recent(now);
    return time >= least_time && own.recent(now) * one_in > time;
}

} // namespace

void busy_time::change(int in_flight, instant now)
{
    seconds_ = recent(now);
    at_ = now;
    change(in_flight);
}

double busy_time::recent(instant now) const
{
    if (now <= at_) return seconds_;
    if (in_flight_ == 0 && seconds_ == 0) return 0;
    double const memory = std::chrono::duration<double>(recent_for).count();
    auto const kept = std::exp(-std::chrono::duration<double>(now - at_).count() / memory);
    return seconds_ * kept + static_cast<double>(in_flight_) * memory * (1 - kept);
}

bool tenant_noise::is_noisy(
    busy_time const& own, busy_time const& all, instant now, std::function<std::chrono::seconds()> const& draw)
{
    if (now - came_at_ >= recent_for || !is_loud(own, all, now)) return false;
    bool const goes_on = noticed_at_ && now - loud_at_ < spell_ends_after;
    if (!goes_on) noticed_at_ = now + draw();
    loud_at_ = now;
    return now >= *noticed_at_;
}

} // namespace quern::broker::detail
