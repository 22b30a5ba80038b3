#include <quern/sim/detail/day_text.hpp>

#include <quern/core/detail/text/reading.hpp>
#include <quern/sim/shrink.hpp>

#include <array>
#include <charconv>
#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

namespace quern::sim {

namespace {

using std::chrono::milliseconds;

std::string code(bool b)
{
    return b ? "true" : "false";
}

std::string code(double d)
{
    std::array<char, 32> digits;
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), d).ptr;
    return {digits.data(), end};
}

template <std::integral T>
std::string code(T n)
{
    return std::to_string(n);
}

template <class Rep, class Period>
std::string code(std::chrono::duration<Rep, Period> d)
{
    return std::to_string(std::chrono::duration_cast<milliseconds>(d).count()) + "ms";
}

std::string code(std::chrono::seconds d)
{
    return std::to_string(d.count()) + "s";
}

std::string code(policy::rate const& r)
{
    return "policy::rate{" + code(r.count) + ", " + std::to_string(r.per.count()) + "ns, " + code(r.burst) + "}";
}

std::string code(policy::automatic_concurrency const& c)
{
    return "policy::automatic_concurrency{" + code(c.min) + ", " + code(c.max) + "}";
}

template <class T>
std::string code(std::optional<T> const& o)
{
    return o ? code(*o) : "std::nullopt";
}

std::string code(incident::kind what)
{
    static constexpr char const* names[] = {"pause", "kill", "stop", "hurry", "start", "clock", "rest", "turn"};
    return std::string("sim::incident::kind::") + names[static_cast<std::size_t>(what)];
}

std::string code(consumer_limits const& l)
{
    return "{.max_in_flight = " + code(l.max_in_flight) + ", .max_bytes_in_flight = " + code(l.max_bytes_in_flight) +
        ", .max_polls = " + code(l.max_polls) + ", .rate = " + code(l.rate) +
        ", .handler_concurrency = " + code(l.handler_concurrency) + "}";
}

std::string code(incident const& i)
{
    auto out =
        "{" + code(i.what) + ", " + code(i.process) + ", " + code(i.at) + ", " + code(i.by) + ", " + code(i.then);
    if (i.what == incident::kind::turn) out += ", " + code(i.limits);
    return out + "}";
}

std::string code(pile const& p)
{
    return "{" + code(p.at) + ", " + code(p.messages) + "}";
}

void add_faults(std::string& to, std::string const& whose, broker::fault_rates const& rates)
{
    broker::fault_rates const none;
    detail::each_fault(rates, [&](char const* name, double rate, double) {
        if (rate != 0) to += "one." + whose + '.' + name + " = " + code(rate) + ";\n";
    });
    if (rates.latency == 0) return;
    to += "one." + whose + ".latency_min = " + code(rates.latency_min) + ";\n";
    to += "one." + whose + ".latency_max = " + code(rates.latency_max) + ";\n";
}

void add(std::string& to, spell const& s)
{
    to += "one = {" + code(s.from) + ", " + code(s.until) + ", {}};\n";
    if (s.faults.seed != 1) to += "one.faults.seed = " + code(s.faults.seed) + ";\n";
    add_faults(to, "faults.everywhere", s.faults.everywhere);
    for (auto const& [operation, rates] : s.faults.by_operation) {
        auto const whose = "faults.by_operation[\"" + operation + "\"]";
        to += "one." + whose + " = {};\n";
        add_faults(to, whose, rates);
    }
    if (s.credentials_expired) to += "one.credentials_expired = true;\n";
    if (s.without_handles) to += "one.without_handles = true;\n";
    if (s.dependency_down) to += "one.dependency_down = true;\n";
    if (s.tenants_down != 0) to += "one.tenants_down = " + code(s.tenants_down) + ";\n";
    to += "day.spells.push_back(one);\n";
}

template <class T>
std::string list(char const* name, std::vector<T> const& all)
{
    std::string out = std::string("day.") + name + " = {";
    for (auto const& one : all)
        out += (out.ends_with('{') ? "" : ", ") + code(one);
    return out + "};\n";
}

} // namespace

std::string to_code(scenario const& day, scenario const& from)
{
    std::string out;
    if (day.seed != from.seed) out += "day.seed = " + code(day.seed) + ";\n";
    std::vector<std::string> before; // in the order of the fields
    detail::each_field(from, [&](char const*, auto const& field, auto const&) { before.push_back(code(field)); });
    auto was = before.begin();
    detail::each_field(day, [&](char const* name, auto const& field, auto const&) {
        auto const is = code(field);
        if (is != *was++) out += std::string("day.") + name + " = " + is + ";\n";
    });
    if (day.versions.size() != from.versions.size())
        out += "day.versions.resize(" + code(day.versions.size()) + ");\n";
    if (day.piles.size() != from.piles.size()) out += list("piles", day.piles);
    out += list("incidents", day.incidents);
    out += "day.spells.clear();\n";
    if (!day.spells.empty()) out += "sim::spell one;\n";
    for (auto const& s : day.spells)
        add(out, s);
    return out;
}

} // namespace quern::sim
