#include <quern/sim/coverage.hpp>

#include <quern/sim/detail/places.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

namespace quern::sim {

namespace detail {

namespace {

using life = quern::detail::message_life;
using group = coverage::group;
using way = quern::gate::answer::way;

constexpr std::array<std::string_view, coverage::groups> group_names{"steps of a life", "faults", "faults x states",
    "parts of handlers", "verdicts", "changes of breakers", "ways at the gate"};

constexpr std::array<std::string_view, 8> incident_names{
    "pause", "kill", "stop", "hurry", "start", "clock", "rest", "turn"};
constexpr std::array<std::string_view, 4> spell_names{
    "credentials expired", "without handles", "dependency down", "tenants down"};
constexpr std::array<std::string_view, errands> errand_names{"receive", "delete", "change", "hand-off", "other"};
constexpr std::array<std::string_view, 10> harm_names{"throttled", "access denied", "server error", "dropped before",
    "dropped after", "half open", "truncated", "slow", "entry refused", "handle expired"};
constexpr std::array<std::string_view, 15> part_names{"succeeds", "fails", "backs off", "releases", "hangs", "deaf",
    "rejects", "misreads", "condemns", "unavailable", "blocks", "acks", "extends", "guards", "insists"};
constexpr std::array<std::string_view, 6> verdict_names{
    "succeeded", "failed", "cancelled", "rejected", "discarded", "found down"};
constexpr std::array<std::string_view, 3> question_names{"asked", "ended", "due"};

constexpr fault first_spell = incident_names.size();
constexpr fault lowered = first_spell + spell_names.size();
constexpr fault damaged = lowered + 1;
constexpr fault first_harm = damaged + 1;
constexpr fault faults = first_harm + errands * harm_names.size();
constexpr std::size_t transports = 8; // of these names

std::string name_of(fault f)
{
    if (f < first_spell) return std::string(incident_names[f]);
    if (f < lowered) return std::string(spell_names[f - first_spell]);
    if (f == lowered) return "policy lowered";
    if (f == damaged) return "message damaged";
    auto const at = f - first_harm;
    return std::string(errand_names[at / harm_names.size()]) + ' ' + std::string(harm_names[at % harm_names.size()]);
}

/// A message in that state may have such a request under way, or come with its answer.
bool concerns(errand e, life::state s)
{
    using S = life::state;
    switch (e) {
    case errand::receive: return s != S::gone;
    case errand::remove:
        return s == S::deleting_early || s == S::deleting_copy_early || s == S::deleting || s == S::deleting_copy ||
            s == S::discarding;
    case errand::change:
        return s != S::gone && s != S::deleted_early && s != S::deleting_copy_early && s != S::deleting_copy;
    case errand::hand_off: return s == S::handing_off;
    case errand::other: break;
    }
    return false;
}

bool is_possible(fault f)
{
    if (f < first_harm) return true;
    auto const e = static_cast<errand>((f - first_harm) / harm_names.size());
    auto const harm = (f - first_harm) % harm_names.size();
    if (harm < transports) return true;
    auto const of_handles = harm != transports; // such an entry has one
    return e == errand::remove || e == errand::change || (e == errand::hand_off && !of_handles);
}

bool is_possible(fault f, life::state s)
{
    if (s == life::state::gone || !is_possible(f) || f == damaged) return false;
    return f < first_harm || concerns(static_cast<errand>((f - first_harm) / harm_names.size()), s);
}

/// Ways of the gate, by the question.
struct gate_way {
    question of;
    std::string_view name;
    std::function<bool(quern::gate::answer const&)> is;
};

std::vector<gate_way> const& gate_ways()
{
    using answer = quern::gate::answer;
    static std::vector<gate_way> const out{
        {question::ask, "begins", [](answer const& a) { return a.to == way::on && !a.hurries; }},
        {question::ask, "begins, in a hurry", [](answer const& a) { return a.to == way::on && a.hurries; }},
        {question::ask, "waits", [](answer const& a) { return a.to == way::wait_here && !a.took_turn; }},
        {question::ask, "waits, and took a turn",
            [](answer const& a) { return a.to == way::wait_here && a.took_turn; }},
        {question::ask, "goes back",
            [](answer const& a) { return a.to == way::go_back && !a.took_turn && !a.spilled; }},
        {question::ask, "goes back, and took a turn",
            [](answer const& a) { return a.to == way::go_back && a.took_turn && !a.spilled; }},
        {question::ask, "goes back, spilled", [](answer const& a) { return a.to == way::go_back && a.spilled; }},
        {question::ended, "goes its way", [](answer const& a) { return a.to == way::on; }},
        {question::ended, "waits", [](answer const& a) { return a.to == way::wait_here; }},
        {question::ended, "goes back", [](answer const& a) { return a.to == way::go_back && !a.spilled; }},
        {question::ended, "goes back, spilled", [](answer const& a) { return a.to == way::go_back && a.spilled; }},
        {question::due, "begins", [](answer const& a) { return a.to == way::on; }},
        {question::due, "goes back", [](answer const& a) { return a.to == way::go_back && !a.spilled; }},
        {question::due, "goes back, spilled", [](answer const& a) { return a.to == way::go_back && a.spilled; }},
    };
    return out;
}

/// All places, and where those of each kind are.
struct map_of_places {
    std::vector<coverage::place> all;
    std::array<std::array<std::optional<std::size_t>, life::events>, life::states> steps;
    std::array<std::optional<std::size_t>, faults> of_faults;
    std::array<std::array<std::optional<std::size_t>, life::states>, faults> pairs;
    std::size_t parts = 0, verdicts = 0, breakers = 0, gates = 0; // the first

    std::size_t add(group of, std::string name)
    {
        all.push_back({of, std::move(name)});
        return all.size() - 1;
    }

    map_of_places()
    {
        using quern::detail::name_of;
        for (auto const& r : life::table())
            steps[static_cast<std::size_t>(r.at)][static_cast<std::size_t>(r.what)] =
                add(group::steps, std::string(name_of(r.at)) + ": " + std::string(name_of(r.what)));
        for (fault f = 0; f < faults; ++f)
            if (is_possible(f)) of_faults[f] = add(group::faults, detail::name_of(f));
        for (fault f = 0; f < faults; ++f) {
            for (std::size_t s = 0; s < life::states; ++s) {
                auto const state = static_cast<life::state>(s);
                if (is_possible(f, state))
                    pairs[f][s] = add(group::pairs, detail::name_of(f) + " x " + std::string(name_of(state)));
            }
        }
        parts = all.size();
        for (auto const name : part_names)
            add(group::parts, "a handler " + std::string(name));
        verdicts = all.size();
        for (auto const name : verdict_names)
            add(group::verdicts, "a try has " + std::string(name));
        breakers = all.size();
        for (auto const* name : {"the whole opens", "the whole closes", "a key's opens", "a key's closes"})
            add(group::breakers, std::string("breaker: ") + name);
        gates = all.size();
        for (auto const& w : gate_ways())
            add(group::gates,
                "gate, " + std::string(question_names[static_cast<std::size_t>(w.of)]) + ": " + std::string(w.name));
    }
};

map_of_places const& every_place()
{
    static map_of_places const out;
    return out;
}

} // namespace

errand errand_of(std::string_view operation)
{
    if (operation == "ReceiveMessage") return errand::receive;
    if (operation.starts_with("DeleteMessage")) return errand::remove;
    if (operation.starts_with("ChangeMessageVisibility")) return errand::change;
    if (operation.starts_with("SendMessage")) return errand::hand_off;
    return errand::other;
}

fault fault_of(incident::kind what)
{
    return static_cast<fault>(what);
}

fault fault_of(spell_kind what)
{
    return first_spell + static_cast<fault>(what);
}

fault fault_of(errand e, broker::transport_fault what)
{
    return first_harm + static_cast<fault>(e) * harm_names.size() + static_cast<fault>(what) - 1;
}

fault entry_refused(errand e, bool expired)
{
    return first_harm + static_cast<fault>(e) * harm_names.size() + transports + (expired ? 1 : 0);
}

fault lowered_policy()
{
    return lowered;
}

fault damaged_message()
{
    return damaged;
}

std::optional<std::size_t> place_of(life::state at, life::event what)
{
    return every_place().steps[static_cast<std::size_t>(at)][static_cast<std::size_t>(what)];
}

std::optional<std::size_t> place_of(fault f)
{
    return every_place().of_faults[f];
}

std::optional<std::size_t> place_of(fault f, life::state at)
{
    return every_place().pairs[f][static_cast<std::size_t>(at)];
}

std::optional<std::size_t> place_of(part::kind what)
{
    return every_place().parts + static_cast<std::size_t>(what);
}

std::optional<std::size_t> place_of(verdict const& v)
{
    auto const down = v.found_down ? verdict_names.size() - 1 : static_cast<std::size_t>(v.how);
    return every_place().verdicts + down;
}

std::optional<std::size_t> place_of_breaker(bool of_a_key, bool closes)
{
    return every_place().breakers + (of_a_key ? 2 : 0) + (closes ? 1 : 0);
}

std::optional<std::size_t> place_of(question of, quern::gate::answer const& said)
{
    auto const& all = gate_ways();
    auto const at = std::ranges::find_if(all, [&](gate_way const& w) { return w.of == of && w.is(said); });
    if (at == all.end()) return {};
    return every_place().gates + static_cast<std::size_t>(at - all.begin());
}

} // namespace detail

std::vector<coverage::place> const& coverage::places()
{
    return detail::every_place().all;
}

std::size_t coverage::count(group of)
{
    return static_cast<std::size_t>(std::ranges::count(places(), of, &place::of));
}

std::size_t coverage::add(coverage const& more)
{
    std::size_t fresh = 0;
    for (std::size_t i = 0; i < times_.size(); ++i) {
        if (times_[i] == 0 && more.times_[i] != 0) ++fresh;
        times_[i] += more.times_[i];
    }
    return fresh;
}

std::size_t coverage::reached() const
{
    return static_cast<std::size_t>(std::ranges::count_if(times_, [](std::uint64_t n) { return n != 0; }));
}

std::size_t coverage::reached(group of) const
{
    std::size_t out = 0;
    for (std::size_t i = 0; i < times_.size(); ++i)
        out += places()[i].of == of && times_[i] != 0 ? 1 : 0;
    return out;
}

std::string coverage::to_text() const
{
    std::string out, missed;
    for (std::size_t g = 0; g < groups; ++g) {
        auto const of = static_cast<group>(g);
        auto const name = std::string(detail::group_names[g]);
        out += name + std::string(20 - name.size(), ' ') + std::to_string(reached(of)) + " of " +
            std::to_string(count(of)) + '\n';
        for (std::size_t i = 0; i < times_.size(); ++i)
            if (places()[i].of == of && times_[i] == 0) missed += "  " + places()[i].name + '\n';
    }
    return missed.empty() ? out : out + "not reached:\n" + missed;
}

} // namespace quern::sim
