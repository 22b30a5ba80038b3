#pragma once

#include <quern/consumer/observer.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace quern {

/// An observer that tells others of every event, so that a consumer can have several. Override what you want to know,
/// and call the function of this class there too: `forwarding_observer::settled(m, how, again);`.
class forwarding_observer : public observer {
public:
    /// Tells these, in this order; each may be null.
    explicit forwarding_observer(std::shared_ptr<observer> next, std::shared_ptr<observer> another = {})
    {
        for (auto& one : {std::move(next), std::move(another)})
            if (one) next_.push_back(one);
    }

    bool wants_queued() const override
    {
        return std::ranges::any_of(next_, [](auto const& one) { return one->wants_queued(); });
    }
    void received(observed_message const& m) override { tell(&observer::received, m); }
    void began(observed_message const& m) override { tell(&observer::began, m); }
    void ended(observed_message const& m, handler_end how, outcome::kind verdict) override
    {
        tell(&observer::ended, m, how, verdict);
    }
    void lease_extended(observed_message const& m, std::chrono::seconds by) override
    {
        tell(&observer::lease_extended, m, by);
    }
    void lease_lost(observed_message const& m) override { tell(&observer::lease_lost, m); }
    void settled(observed_message const& m, message_end how, std::chrono::seconds again) override
    {
        tell(&observer::settled, m, how, again);
    }
    void receive_failed(failure const& why, int in_a_row) override { tell(&observer::receive_failed, why, in_a_row); }
    void breaker_changed(std::string_view dependency, policy::breaker::phase from, policy::breaker::phase to) override
    {
        tell(&observer::breaker_changed, dependency, from, to);
    }
    void limits_changed(observed_limits const& now) override { tell(&observer::limits_changed, now); }
    void limits_set(consumer_limits const& now) override { tell(&observer::limits_set, now); }
    void drain_began(std::chrono::milliseconds limit) override { tell(&observer::drain_began, limit); }
    void drain_cancels() override { tell(&observer::drain_cancels); }
    void drain_ended(drain_report const& report) override { tell(&observer::drain_ended, report); }
    void request_done(sqs::observed_request const& r) override { tell(&observer::request_done, r); }

private:
    template <class Of, class... Taken, class... Given>
    void tell(void (Of::*what)(Taken...), Given const&... event)
    {
        for (auto const& one : next_)
            (*one.*what)(event...);
    }

    std::vector<std::shared_ptr<observer>> next_;
};

} // namespace quern
