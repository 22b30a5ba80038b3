#pragma once

#include <quern/metrics/consumer_metrics.hpp>
#include <quern/producer/explanation.hpp>
#include <quern/producer/observer.hpp>
#include <quern/telemetry/numbers.hpp>

#include <cstddef>
#include <vector>

namespace quern::metrics {

/// Numbers of one producer: its producer_options::observer. Made by a collection.
///
/// Threads  the producer's strand; add_to() any.
class producer_metrics final : public producer_observer, public source {
public:
    explicit producer_metrics(telemetry::source_labels);

    /// Takes up what has no event: messages held, requests under way, what bounds it. Call it now and then.
    ///
    /// Threads  one strand, which need not be the producer's.
    void explained(producer_explanation const&);

    void add_to(std::vector<telemetry::reading>&) const override;

    void sent(observed_send const&) override;
    void send_failed(observed_send const&, failure const&) override;
    void batch_done(std::size_t messages, std::size_t unconfirmed, tick::duration) override;
    void request_done(sqs::observed_request const& r) override { requests_.request_done(r); }

private:
    telemetry::numbers n_;
    telemetry::numbers looks_; ///< the same part, for what explained() sets: it may have another strand
    request_metrics requests_; ///< of a client that it has for itself
};

} // namespace quern::metrics
