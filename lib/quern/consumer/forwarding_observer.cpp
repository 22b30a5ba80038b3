#include <quern/consumer/forwarding_observer.hpp>

namespace quern {

void forwarding_observer::received(observed_message const& m)
{
    if (next_) next_->received(m);
}

void forwarding_observer::began(observed_message const& m)
{
    if (next_) next_->began(m);
}

void forwarding_observer::ended(observed_message const& m, handler_end how, outcome::kind verdict)
{
    if (next_) next_->ended(m, how, verdict);
}

void forwarding_observer::lease_extended(observed_message const& m, std::chrono::seconds by)
{
    if (next_) next_->lease_extended(m, by);
}

void forwarding_observer::lease_lost(observed_message const& m)
{
    if (next_) next_->lease_lost(m);
}

void forwarding_observer::settled(observed_message const& m, message_end how, std::chrono::seconds again)
{
    if (next_) next_->settled(m, how, again);
}

void forwarding_observer::receive_failed(failure const& why, int in_a_row)
{
    if (next_) next_->receive_failed(why, in_a_row);
}

void forwarding_observer::breaker_changed(
    std::string_view dependency, policy::breaker::phase from, policy::breaker::phase to)
{
    if (next_) next_->breaker_changed(dependency, from, to);
}

void forwarding_observer::limits_changed(observed_limits const& now)
{
    if (next_) next_->limits_changed(now);
}

void forwarding_observer::limits_set(consumer_limits const& now)
{
    if (next_) next_->limits_set(now);
}

void forwarding_observer::drain_began(std::chrono::milliseconds limit)
{
    if (next_) next_->drain_began(limit);
}

void forwarding_observer::drain_cancels()
{
    if (next_) next_->drain_cancels();
}

void forwarding_observer::drain_ended(drain_report const& report)
{
    if (next_) next_->drain_ended(report);
}

void forwarding_observer::request_done(sqs::observed_request const& r)
{
    if (next_) next_->request_done(r);
}

} // namespace quern
