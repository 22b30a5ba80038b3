#include <quern/consumer/drain_report.hpp>

namespace quern {

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
