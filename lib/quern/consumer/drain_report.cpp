#include <quern/consumer/drain_report.hpp>

#include <algorithm>

namespace quern {

void drain_report::add(drain_report const& more)
{
    took = std::max(took, more.took);
    for (auto const count :
        {&drain_report::finished, &drain_report::cancelled, &drain_report::released, &drain_report::stranded,
            &drain_report::running, &drain_report::at_risk, &drain_report::lost, &drain_report::polls})
        this->*count += more.*count;
}

std::string to_json(drain_report const& r)
{
    std::string text = "{\"took_ms\":" + std::to_string(r.took.count());
    auto const add = [&](char const* name, std::size_t value) {
        text.append(",\"").append(name).append("\":").append(std::to_string(value));
    };
    add("finished", r.finished);
    add("cancelled", r.cancelled);
    add("released", r.released);
    add("stranded", r.stranded);
    add("running", r.running);
    add("at_risk", r.at_risk);
    add("lost", r.lost);
    add("polls", r.polls);
    return text + '}';
}

} // namespace quern
