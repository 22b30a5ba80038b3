#include <quern/consumer/detail/limits_in_force.hpp>

#include <string>

namespace quern::detail {

void limits_in_force::turn(consumer_limits const& to)
{
    max_in_flight = to.max_in_flight.value_or(max_in_flight);
    max_bytes_in_flight = to.max_bytes_in_flight.value_or(max_bytes_in_flight);
    max_polls = to.max_polls.value_or(max_polls);
    handler_concurrency = to.handler_concurrency.value_or(handler_concurrency);
    if (!to.rate) return;
    if (to.rate->count == 0)
        rate.reset();
    else
        rate = to.rate;
}

consumer_limits limits_in_force::told() const
{
    consumer_limits out;
    out.max_in_flight = max_in_flight;
    out.max_bytes_in_flight = max_bytes_in_flight;
    out.rate = rate.value_or(policy::rate());
    out.max_polls = max_polls;
    out.handler_concurrency = handler_concurrency;
    return out;
}

std::string differences(consumer_limits const& now, consumer_limits const& base)
{
    std::string out;
    auto const add = [&](std::string part) { out += (out.empty() ? "" : ", ") + part; };
    auto const number = [&](char const* name, auto const& a, auto const& b) {
        if (a != b && a) add(std::string(name) + ' ' + std::to_string(*a));
    };
    number("max_in_flight", now.max_in_flight, base.max_in_flight);
    number("max_bytes_in_flight", now.max_bytes_in_flight, base.max_bytes_in_flight);
    number("max_polls", now.max_polls, base.max_polls);
    number("handler_concurrency", now.handler_concurrency, base.handler_concurrency);
    if (now.rate && now.rate != base.rate) add(now.rate->count == 0 ? "no rate" : "rate " + to_string(*now.rate));
    return out;
}

} // namespace quern::detail
