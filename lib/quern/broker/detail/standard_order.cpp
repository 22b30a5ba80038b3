#include <quern/broker/detail/delivery_order.hpp>
#include <quern/broker/detail/giving_back.hpp>

#include <string>
#include <unordered_map>

namespace quern::broker::detail {

namespace bi = boost::intrusive;

struct standard_order::tenant : bi::set_base_hook<> {
    std::string id;
    std::size_t messages = 0; ///< in any state
    busy_time busy;
    tenant_noise noise;
    ordered_messages visible;

    friend bool operator<(tenant const& a, tenant const& b)
    {
        return a.visible.begin()->order < b.visible.begin()->order;
    }
};

struct standard_order::tenants {
    std::unordered_map<std::string, std::unique_ptr<tenant>> by_id;
    bi::set<tenant> ready; ///< those with a visible message, by the oldest of them
};

standard_order::standard_order(services const& with, std::uint64_t seed)
    : with_(with), tenants_(std::make_unique<tenants>()), random_(with.options.seed.value_or(seed) + seed)
{}

standard_order::~standard_order()
{
    tenants_->ready.clear();
    for (auto& [id, one] : tenants_->by_id)
        one->visible.clear();
}

void standard_order::entered(stored_message& m)
{
    auto& found = tenants_->by_id[m.rest().group_id];
    if (!found) {
        found = std::make_unique<tenant>();
        found->id = m.rest().group_id;
    }
    m.lane = found.get();
    ++found->messages;
    found->noise.came(with_.latest);
    if (m.state == message_state::visible) show(m);
}

void standard_order::left(stored_message& m)
{
    auto& whose = tenant_of(m);
    if (m.state == message_state::visible) hide(m);
    if (m.state == message_state::in_flight) count(whose, -1);
    --whose.messages;
    if (whose.messages != 0) return;
    tenants_->by_id.erase(std::string(whose.id));
    give_back_buckets(tenants_->by_id);
}

void standard_order::changed(stored_message& m, message_state before)
{
    auto& whose = tenant_of(m);
    if (before == message_state::visible) hide(m);
    if (before == message_state::in_flight) count(whose, -1);
    if (m.state == message_state::in_flight) count(whose, 1);
    if (m.state == message_state::visible) show(m);
}

stored_message* standard_order::first()
{
    // At most nine tenants can have more than a tenth by each of two rules, so nineteen are looked at, at most.
    tenant* best = nullptr;
    for (auto& one : tenants_->ready) {
        if (!noisy(one)) return &*one.visible.begin();
        if (!best || one.busy.in_flight() < best->busy.in_flight()) best = &one;
    }
    return best ? &*best->visible.begin() : nullptr;
}

standard_order::tenant& standard_order::tenant_of(stored_message& m)
{
    return *static_cast<tenant*>(m.lane);
}

bool standard_order::noisy(tenant& one)
{
    if (one.id.empty()) return false;
    auto const within = with_.options.noise_noticed_within;
    auto const draw = [&] {
        if (within.count() == 0) return within;
        return std::chrono::seconds(random_() % (static_cast<std::uint64_t>(within.count()) + 1));
    };
    return one.noise.is_noisy(one.busy, all_, with_.latest, draw);
}

void standard_order::count(tenant& whose, int in_flight)
{
    if (whose.id.empty() && tenants_->by_id.size() == 1) {
        whose.busy.change(in_flight);
        return all_.change(in_flight);
    }
    whose.busy.change(in_flight, with_.latest);
    all_.change(in_flight, with_.latest);
}

void standard_order::show(stored_message& m)
{
    auto& whose = tenant_of(m);
    if (whose.is_linked()) tenants_->ready.erase(tenants_->ready.iterator_to(whose));
    whose.visible.insert(whose.visible.end(), m);
    tenants_->ready.insert(whose);
}

void standard_order::hide(stored_message& m)
{
    auto& whose = tenant_of(m);
    tenants_->ready.erase(tenants_->ready.iterator_to(whose));
    whose.visible.erase(whose.visible.iterator_to(m));
    if (!whose.visible.empty()) tenants_->ready.insert(whose);
}

} // namespace quern::broker::detail
