#pragma once

#include <quern/consumer/consumer.hpp>
#include <quern/consumer/observer.hpp>
#include <quern/telemetry/numbers.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace quern::metrics {

/// Something that has numbers to show. Threads  any.
class source {
public:
    virtual ~source() = default;
    virtual void add_to(std::vector<telemetry::reading>&) const = 0;
};

/// Counts the requests of a client that several consumers share. Set it as sqs::client_options::observer.
///
/// Threads  the client's strand; add_to() any.
class request_metrics final : public sqs::request_observer, public source {
public:
    explicit request_metrics(telemetry::source_labels);

    void request_done(sqs::observed_request const&) override;
    void add_to(std::vector<telemetry::reading>&) const override;

private:
    telemetry::numbers n_;
};

/// Numbers of one consumer: its consumer_options::observer. Made by a collection.
///
/// Threads  the consumer's strand; follow() and add_to() any.
class consumer_metrics final : public observer, public source {
public:
    explicit consumer_metrics(telemetry::source_labels);

    /// Takes what only the consumer's own counters know: receives, redeliveries of what is held, damaged messages.
    /// Without it these stay zero. The consumer may end before this does.
    void follow(consumer const&);

    /// Takes up what has no event: bytes, receives under way, obstacles, times. Call it now and then.
    ///
    /// Threads  the consumer's strand, or the one that its context has.
    void explained(explanation const&, wall_time now);

    telemetry::source_labels const& labels() const { return n_.labels(); }
    void add_to(std::vector<telemetry::reading>&) const override;

    bool wants_queued() const override { return true; }
    void received(observed_message const&) override;
    void began(observed_message const&) override;
    void ended(observed_message const&, handler_end, outcome::kind verdict) override;
    void lease_extended(observed_message const&, std::chrono::seconds) override;
    void lease_lost(observed_message const&) override;
    void settled(observed_message const&, message_end, std::chrono::seconds) override;
    void breaker_changed(std::string_view, policy::breaker::phase from, policy::breaker::phase to) override;
    void limits_changed(observed_limits const&) override;
    void drain_ended(drain_report const&) override;
    void request_done(sqs::observed_request const&) override;

private:
    void set_from_counters(telemetry::reading&) const;
    void add_tenants(std::vector<telemetry::reading>&) const;

    telemetry::numbers n_;
    telemetry::numbers looks_; ///< the same part, for what explained() sets: it may have another strand
    request_metrics requests_; ///< of a client that it has for itself
    counter held_, running_;   ///< messages, and handlers: no difference of totals, which a reader sees apart
    std::atomic<std::size_t> max_in_flight_{0}; ///< as explained() has it; 0: not yet
    std::array<std::size_t, 3> breakers_{};     ///< not closed, by phase
    mutable std::mutex lock_;
    std::vector<explanation::tenant_state> tenants_; ///< as explained() has them
    std::shared_ptr<consumer_numbers<counter> const> counters_;
};

} // namespace quern::metrics
