#include <quern/consumer/detail/turns.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace quern::detail {

turns::turns(consumer_options const& options) : options_(options) {}

bool turns::has_place(tenant const& t) const
{
    auto const& most = options_.fairness.tenant_concurrency;
    return !most || t.running < *most;
}

/// The gate's key is the tenant's name, unless a dependency was asked for.
std::string turns::name_of(held const& h) const
try {
    return options_.outage.dependency ? options_.tenant(h.message) : h.key;
} catch (...) {
    return {};
}

double turns::weight_of(std::string const& name) const
try {
    auto const out = options_.fairness.weight ? options_.fairness.weight(name) : 1;
    return std::isfinite(out) && out > 0 ? out : 1;
} catch (...) {
    return 1;
}

tenant_in_turn& turns::of(held const& h)
{
    auto name = name_of(h);
    auto& it = tenants_[name];
    if (!it) {
        it = std::make_unique<tenant>();
        it->weight = weight_of(name);
        it->name = std::move(name);
        it->quiet_at = quiet_.end();
    } else if (it->quiet_at != quiet_.end()) {
        quiet_.erase(std::exchange(it->quiet_at, quiet_.end()));
    }
    return *it;
}

double turns::cost(tenant const& t) const
{
    auto const takes = t.takes > 0 ? t.takes : takes_ > 0 ? takes_ : 1;
    return takes / t.weight;
}

void turns::file(tenant& t)
{
    unfile(t);
    capped_ -= t.capped;
    capped_ += t.capped = has_place(t) ? 0 : t.waiting.size();
    if (t.waiting.empty() || t.capped != 0) return;
    t.is_ready = true;
    ready_.insert(&t);
}

bool turns::admits(held const& h) const
{
    if (!is_fair()) return arrived_.empty();
    if (!ready_.empty()) return false;
    auto const found = tenants_.find(name_of(h));
    return found == tenants_.end() || (found->second->waiting.empty() && has_place(*found->second));
}

void turns::wait(held_ptr h)
{
    ++waiting_;
    if (!is_fair()) return arrived_.push_back(std::move(h));
    auto& t = of(*h);
    unfile(t);
    if (t.waiting.empty()) t.clock = std::max(t.clock, clock_);
    t.waiting.push_back(std::move(h));
    file(t);
}

/// Takes the oldest, or the newest, whose lease holds.
held_ptr turns::first_alive(std::list<held_ptr>& from, bool newest, std::size_t& waiting)
{
    while (!from.empty()) {
        auto h = std::move(newest ? from.back() : from.front());
        if (newest)
            from.pop_back();
        else
            from.pop_front();
        --waiting;
        if (h->life.is(message_life::state::waiting)) return h;
    }
    return nullptr;
}

held_ptr turns::next()
{
    while (!arrived_.empty()) {
        auto h = std::move(arrived_.front());
        arrived_.pop_front();
        --waiting_;
        if (h->life.is(message_life::state::waiting)) return h;
    }
    while (!ready_.empty()) {
        auto& t = **ready_.begin();
        unfile(t);
        auto h = first_alive(t.waiting, false, waiting_);
        file(t);
        look_for_quiet(t);
        if (h) return h;
    }
    return nullptr;
}

std::vector<held_ptr> turns::take_waiting()
{
    std::vector<held_ptr> out;
    while (!arrived_.empty() || !ready_.empty())
        if (auto h = next()) out.push_back(std::move(h));
    for (auto& [name, t] : tenants_) { // those of tenants that had no place
        while (auto h = first_alive(t->waiting, false, waiting_))
            out.push_back(std::move(h));
        file(*t);
        look_for_quiet(*t);
    }
    return out;
}

void turns::began(held& h)
{
    if (!is_fair()) return;
    auto& t = of(h);
    unfile(t);
    clock_ = std::max(clock_, t.clock);
    t.clock = clock_ + cost(t);
    ++t.running;
    ++running_;
    h.in_turn = &t;
    file(t);
}

void turns::ended(held& h, std::chrono::nanoseconds took)
{
    if (!h.in_turn) return;
    auto const seconds = std::max(1e-6, std::chrono::duration<double>(took).count());
    for (auto* const takes : {&takes_, &h.in_turn->takes})
        *takes += *takes > 0 ? (seconds - *takes) / 8 : seconds;
    left(h);
}

void turns::left(held& h)
{
    auto& t = *std::exchange(h.in_turn, nullptr);
    --t.running;
    --running_;
    file(t);
    look_for_quiet(t);
}

/// Forgets the one that was here longest ago, when there are too many that have nothing here.
void turns::look_for_quiet(tenant& t)
{
    if (!t.waiting.empty() || t.running != 0 || t.quiet_at != quiet_.end()) return;
    t.quiet_at = quiet_.insert(quiet_.end(), &t);
    if (quiet_.size() <= options_.outage.max_dependencies) return;
    auto const name = quiet_.front()->name;
    quiet_.pop_front();
    tenants_.erase(name);
}

std::vector<held_ptr> turns::surplus(std::size_t most)
{
    std::vector<held_ptr> out;
    auto const fewer = [](auto const& a, auto const& b) {
        auto const x = a.second->waiting.size(), y = b.second->waiting.size();
        return x != y ? x < y : a.first < b.first;
    };
    auto const found = std::ranges::max_element(tenants_, fewer);
    if (found == tenants_.end()) return out;
    auto& t = *found->second;
    if (t.capped == 0 && 2 * t.waiting.size() <= waiting_) return out;
    while (out.size() < most) {
        auto h = first_alive(t.waiting, true, waiting_);
        if (!h) break;
        out.push_back(std::move(h));
    }
    file(t);
    look_for_quiet(t);
    return out;
}

std::chrono::nanoseconds turns::expected_wait() const
{
    auto const seconds =
        takes_ * static_cast<double>(waiting_) / static_cast<double>(std::max<std::size_t>(1, running_));
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(std::min(seconds, 1e5)));
}

std::vector<explanation::tenant_state> turns::busiest(std::size_t most) const
{
    std::vector<explanation::tenant_state> out;
    for (auto const& [name, t] : tenants_)
        if (!t->waiting.empty() || t->running != 0)
            out.push_back({name, t->waiting.size(), t->running, t->capped != 0});
    auto const busier = [](auto const& a, auto const& b) {
        auto const x = a.waiting + a.running, y = b.waiting + b.running;
        return x != y ? x > y : a.name < b.name;
    };
    std::ranges::sort(out, busier);
    if (out.size() > most) out.resize(most);
    return out;
}

} // namespace quern::detail
