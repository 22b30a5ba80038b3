#pragma once

#include <quern/consumer/observer.hpp>

#include <memory>
#include <utility>

namespace quern {

/// An observer that tells another one of every event, so that a consumer can have two. Override what you want to
/// know, and call the function of this class there too: `forwarding_observer::settled(m, how, again);`.
class forwarding_observer : public observer {
public:
    /// `next` may be null: nobody else is told.
    explicit forwarding_observer(std::shared_ptr<observer> next) : next_(std::move(next)) {}

    bool wants_queued() const override { return next_ && next_->wants_queued(); }
    void received(observed_message const&) override;
    void began(observed_message const&) override;
    void ended(observed_message const&, handler_end, outcome::kind verdict) override;
    void lease_extended(observed_message const&, std::chrono::seconds) override;
    void lease_lost(observed_message const&) override;
    void settled(observed_message const&, message_end, std::chrono::seconds again) override;
    void receive_failed(failure const&, int in_a_row) override;
    void breaker_changed(
        std::string_view dependency, policy::breaker::phase from, policy::breaker::phase to) override;
    void limits_changed(observed_limits const&) override;
    void limits_set(consumer_limits const& now) override;
    void drain_began(std::chrono::milliseconds limit) override;
    void drain_cancels() override;
    void drain_ended(drain_report const&) override;
    void request_done(sqs::observed_request const&) override;

private:
    std::shared_ptr<observer> const next_;
};

} // namespace quern
