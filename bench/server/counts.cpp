#include "counts.hpp"

#include <ctime>

namespace yardstick {

namespace {

micros cpu()
{
    std::timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * second + used.tv_nsec / 1000;
}

} // namespace

counts counts::from(micros now)
{
    counts out;
    out.began_ = out.last_ = now;
    out.cpu_began_ = cpu();
    return out;
}

std::string counts::to_json(std::size_t in_flight, std::size_t connections, micros behind, micros now)
{
    in_flight_was(in_flight, now);
    auto const elapsed = std::max<micros>(1, now - began_);

    std::string out = "{";
    auto const number = [&](char const* name, auto value) {
        out += '"';
        out += name;
        out += "\":" + std::to_string(value) + ",";
    };
    number("elapsed_us", elapsed);
    number("cpu_us", cpu() - cpu_began_);
    number("receives", receives);
    number("empty_receives", empty_receives);
    number("deletes", deletes);
    number("changes", changes);
    number("others", others);
    number("handed", handed);
    number("redelivered", redelivered);
    number("deleted", deleted);
    number("repeated", repeated);
    number("stale", stale);
    number("unknown", unknown);
    number("changed", changed);
    number("expired", expired);
    number("in_flight", in_flight);
    number("in_flight_most", most_in_flight);
    number("in_flight_mean", message_micros_ / static_cast<double>(elapsed));
    number("connections", connections);
    number("behind_us", behind);
    out += "\"latency_us\":{";
    for (bool first = true; auto const& [value, many] : latency.buckets()) {
        out += first ? "\"" : ",\"";
        out += std::to_string(value) + "\":" + std::to_string(many);
        first = false;
    }
    out += "}}";
    return out;
}

} // namespace yardstick
