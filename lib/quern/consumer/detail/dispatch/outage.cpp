#include <quern/consumer/detail/dispatch/outage.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace quern {

using namespace std::chrono_literals;

namespace {

std::optional<policy::breaker> make_breaker(
    std::optional<policy::breaker_options> options, std::size_t max_in_flight, std::uint64_t seed)
{
    if (!options) return {};
    options->full_speed = std::min(options->full_speed, max_in_flight);
    return policy::breaker(*std::move(options), seed);
}

} // namespace

outage::outage(std::optional<policy::breaker_options> options, std::size_t max_in_flight, std::uint64_t seed)
    : breaker_(make_breaker(std::move(options), max_in_flight, seed)), max_in_flight_(max_in_flight), random_(seed)
{}

outage::sign outage::sign_of(outcome const& said)
{
    switch (said.what()) {
    case outcome::kind::ack: return sign::good;
    case outcome::kind::retry: return sign::bad;
    case outcome::kind::unavailable: return sign::down;
    case outcome::kind::retry_after:
    case outcome::kind::release:
    case outcome::kind::reject: break;
    }
    return sign::none;
}

void outage::pause(std::string why)
{
    paused_ = true;
    why_paused_ = std::move(why);
}

void outage::force_open(bool on)
{
    if (breaker_) breaker_->force_open(on);
}

std::size_t outage::allowance(tick now)
{
    auto const allowed = breaker_ ? breaker_->allowance(now) : policy::breaker::unlimited;
    if (breaker_ && std::exchange(counted_, breaker_->start()) != breaker_->start()) working_ = 0;
    return paused_ ? 0 : allowed;
}

outage::places outage::room(std::size_t in_flight, std::size_t waiting, tick now)
{
    auto const allowed = allowance(now);
    if (allowed >= max_in_flight_) return {in_flight, max_in_flight_};
    // What began before the opening does not count against a probe, yet takes its place in memory.
    auto const taken = working_ + kept_.size() + waiting;
    auto const free = max_in_flight_ - std::min(in_flight, max_in_flight_);
    return {taken, std::min(allowed, taken + free)};
}

void outage::started(held& h)
{
    if (!breaker_) return;
    h.ticket = breaker_->start();
    ++working_;
}

void outage::ended(held& h, sign what, tick now)
{
    if (!breaker_) return;
    allowance(now);
    if (h.ticket == counted_) --working_;
    auto const who = std::hash<std::string_view>()(h.message.id());
    switch (what) {
    case sign::good: return breaker_->succeeded(h.ticket, now);
    case sign::bad: return breaker_->failed(h.ticket, who, now);
    case sign::down: return breaker_->unavailable(h.ticket, who, now);
    case sign::none: return;
    }
}

bool outage::keeps(held const& h) const
{
    auto const last = max_receives_ != 0 && h.receive_count >= max_receives_;
    return last || (breaker_ && kept_.empty() && !paused_); // without a breaker nothing would pace the probe
}

void outage::keep(held_ptr h)
{
    h->at = held::stage::waiting;
    kept_.push_back(std::move(h));
}

/// From half a minute, by which our own receives that are still open have ended, to a minute and a half.
std::chrono::milliseconds outage::put_off()
{
    return 30s + std::chrono::milliseconds(random_() % 60'000);
}

held_ptr outage::next_kept(tick now)
{
    while (!kept_.empty() && kept_.front()->at != held::stage::waiting)
        kept_.pop_front(); // its lease was lost
    if (kept_.empty() || !admits(now)) return nullptr;
    auto out = std::move(kept_.front());
    kept_.pop_front();
    return out;
}

std::vector<held_ptr> outage::take_kept()
{
    std::vector<held_ptr> out;
    for (auto& h : std::exchange(kept_, {}))
        if (h->at == held::stage::waiting) out.push_back(std::move(h));
    return out;
}

std::optional<tick> outage::wake_at() const
{
    if (paused_ || !breaker_) return {};
    return breaker_->wake_at();
}

std::string outage::explain(tick now) const
{
    if (paused_) return why_paused_.empty() ? "paused" : "paused: " + why_paused_;
    if (!breaker_ || breaker_->state() == policy::breaker::phase::closed) return {};
    auto why = "breaker " + breaker_->explain(now);
    if (!kept_.empty()) why += "; " + std::to_string(kept_.size()) + " messages wait here";
    return why;
}

} // namespace quern
