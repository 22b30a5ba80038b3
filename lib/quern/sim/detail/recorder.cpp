#include <quern/sim/detail/recorder.hpp>

#include <quern/consumer/detail/gate/breaker_gate.hpp>
#include <quern/core/detail/random_part.hpp>

#include <cassert>
#include <memory>
#include <numeric>
#include <utility>

namespace quern::sim::detail {

/// Hands on each question and each answer, and notes the answer.
class recorder::seen_gate final : public gate {
public:
    seen_gate(coverage& into, std::unique_ptr<gate> its) : into_(into), its_(std::move(its)) {}

    std::size_t room(tick now) override { return its_->room(now); }
    std::optional<double> rate(tick now) override { return its_->rate(now); }
    bool prefers_fresh() override { return its_->prefers_fresh(); }
    answer ask(subject const& what, tick now) override { return noted(question::ask, its_->ask(what, now)); }
    void started(subject const& what, tick now) override { its_->started(what, now); }
    answer ended(subject const& what, news const& said, tick now) override
    {
        return noted(question::ended, its_->ended(what, said, now));
    }
    std::optional<leave> due(bool may_begin, tick now) override
    {
        auto out = its_->due(may_begin, now);
        if (out) noted(question::due, out->what);
        return out;
    }
    std::optional<tick> wake_at(tick now) override { return its_->wake_at(now); }
    void stop(bool set, tick now) override { its_->stop(set, now); }
    void probe(tick now) override { its_->probe(now); }
    void set_places(std::size_t n) override { its_->set_places(n); }
    std::string explain(tick now) override { return its_->explain(now); }
    std::vector<change> take_changes() override
    {
        auto out = its_->take_changes();
        for (auto const& one : out)
            note(place_of_breaker(!one.key.empty(), one.to == policy::breaker::phase::closed));
        return out;
    }

private:
    void note(std::optional<std::size_t> place)
    {
        if (place) into_.reach(*place);
    }
    answer noted(question of, answer said)
    {
        note(place_of(of, said));
        return said;
    }

    coverage& into_;
    std::unique_ptr<gate> its_;
};

recorder::recorder(coverage* into, std::function<std::size_t()> in_flight)
    : into_(into), in_flight_(std::move(in_flight))
{}

/// One that has come here waits until something befalls it, of which alone this hears.
void recorder::stepped(life::row const& r)
{
    reach(r.at, r.what);
    if (r.at != life::state::gone && r.at != life::state::waiting) {
        auto& left = here_[static_cast<std::size_t>(r.at)];
        assert(left > 0);
        --left;
    }
    if (r.next != life::state::gone && r.next != life::state::waiting) ++here_[static_cast<std::size_t>(r.next)];
}

void recorder::strike(fault f)
{
    if (!into_) return;
    reach(f);
    auto const known = static_cast<std::size_t>(std::accumulate(here_.begin(), here_.end(), 0));
    if (in_flight_() > known) reach(f, life::state::waiting);
    for (std::size_t s = 0; s < here_.size(); ++s)
        if (here_[s] > 0) reach(f, static_cast<life::state>(s));
}

void recorder::strike(spell const& s)
{
    if (s.credentials_expired) strike(fault_of(spell_kind::credentials_expired));
    if (s.without_handles) strike(fault_of(spell_kind::without_handles));
    if (s.dependency_down) strike(fault_of(spell_kind::dependency_down));
    if (s.tenants_down != 0) strike(fault_of(spell_kind::tenants_down));
}

void recorder::harm(std::string_view operation, broker::transport_fault what)
{
    if (what != broker::transport_fault::none) strike(fault_of(errand_of(operation), what));
}

void recorder::refuse(std::string_view operation, bool for_good)
{
    strike(entry_refused(errand_of(operation), for_good));
}

void recorder::watch_gate(consumer_options& o, tick now)
{
    if (!into_ || o.outage.gate || !o.outage.breaker) return;
    auto its = std::make_unique<quern::detail::breaker_gate>(
        *o.outage.breaker, o.outage.max_dependencies, quern::detail::seeded(o.seed), now);
    o.outage.gate = std::make_shared<seen_gate>(*into_, std::move(its));
}

} // namespace quern::sim::detail
