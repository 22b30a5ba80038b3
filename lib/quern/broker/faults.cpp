#include <quern/broker/faults.hpp>

#include <utility>

namespace quern::broker {
namespace {

using problem = std::optional<failure>;

problem refuse(std::string const& whose, std::string_view setting, std::string_view why)
{
    return failure(errc::invalid_option, "faults." + whose + '.' + std::string(setting) + ": " + std::string(why));
}

problem check(std::string const& whose, fault_rates const& rates)
{
    std::pair<std::string_view, double> const chances[] = {{"latency", rates.latency}, {"throttled", rates.throttled},
        {"access_denied", rates.access_denied}, {"server_error", rates.server_error},
        {"dropped_before", rates.dropped_before}, {"dropped_after", rates.dropped_after},
        {"half_open", rates.half_open}, {"truncated", rates.truncated}, {"slow", rates.slow},
        {"entry_failed", rates.entry_failed}, {"duplicated", rates.duplicated}, {"short_answer", rates.short_answer},
        {"receipt_expired", rates.receipt_expired}};
    for (auto const& [name, chance] : chances) {
        if (!(chance >= 0 && chance <= 1)) return refuse(whose, name, "a chance is from 0 to 1");
    }
    double const transport = rates.throttled + rates.access_denied + rates.server_error + rates.dropped_before +
        rates.dropped_after + rates.half_open + rates.truncated + rates.slow;
    if (transport > 1 + 1e-9) {
        return refuse(whose, "throttled", "the chances of the faults that exclude each other add up to more than 1");
    }
    if (rates.latency_min < std::chrono::milliseconds(0) || rates.latency_max < rates.latency_min) {
        return refuse(whose, "latency_max", "must not be below latency_min, nor either below 0");
    }
    if (rates.slow_bytes_per_second < 1) return refuse(whose, "slow_bytes_per_second", "must be at least 1");
    return {};
}

} // namespace

std::optional<failure> fault_settings::validate() const
{
    if (auto bad = check("everywhere", everywhere)) return bad;
    for (auto const& [operation, rates] : by_operation) {
        if (auto bad = check(operation, rates)) return bad;
    }
    return {};
}

fault_plan::fault_plan(fault_settings settings) : settings_(std::move(settings)), random_(settings_.seed) {}

request_fault fault_plan::on_request(std::string_view operation)
{
    auto const& rate = rates(operation);
    request_fault out;
    if (hits(rate.latency)) {
        auto const span = static_cast<double>((rate.latency_max - rate.latency_min).count() + 1);
        out.latency = rate.latency_min + std::chrono::milliseconds(static_cast<std::int64_t>(draw() * span));
    }

    std::pair<double, transport_fault> const choices[] = {{rate.throttled, transport_fault::throttled},
        {rate.server_error, transport_fault::server_error}, {rate.dropped_before, transport_fault::dropped_before},
        {rate.dropped_after, transport_fault::dropped_after}, {rate.half_open, transport_fault::half_open},
        {rate.truncated, transport_fault::truncated}, {rate.slow, transport_fault::slow},
        {rate.access_denied, transport_fault::access_denied}};
    double total = 0;
    for (auto const& choice : choices)
        total += choice.first;
    if (total == 0) return out; // draws nothing, so that a plan without faults costs nothing

    double left = draw();
    for (auto const& [chance, what] : choices) {
        if (left < chance) {
            out.what = what;
            break;
        }
        left -= chance;
    }
    if (out.what == transport_fault::server_error) out.http_status = hits(0.5) ? 500 : 503;
    if (out.what == transport_fault::slow) out.bytes_per_second = rate.slow_bytes_per_second;
    return out;
}

/// How many messages a receive may bring that asks for so many.
int fault_plan::shortened(int most)
{
    return hits(rates("ReceiveMessage").short_answer) ? 1 + static_cast<int>(draw() * (most - 1)) : most;
}

fault_rates const& fault_plan::rates(std::string_view operation) const
{
    if (settings_.by_operation.empty()) return settings_.everywhere;
    auto const at = settings_.by_operation.find(operation);
    return at == settings_.by_operation.end() ? settings_.everywhere : at->second;
}

double fault_plan::draw()
{
    return static_cast<double>(random_() >> 11) * 0x1p-53; // [0, 1), the same with every standard library
}

} // namespace quern::broker
