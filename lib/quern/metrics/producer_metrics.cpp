#include <quern/metrics/producer_metrics.hpp>

#include <iterator>
#include <utility>

namespace quern::metrics {

using telemetry::id;
using telemetry::part;

namespace {

/// A consumer of this queue may have a client, too.
telemetry::source_labels with_client(telemetry::source_labels labels)
{
    labels.emplace_back("client", "producer");
    return labels;
}

} // namespace

producer_metrics::producer_metrics(telemetry::source_labels labels)
    : n_(part::producer, labels), looks_(part::producer, labels), requests_(with_client(std::move(labels)))
{}

void producer_metrics::sent(observed_send const& m)
{
    n_.add(id::messages_sent, 0);
    n_.record(id::send_duration, m.took, 0);
}

void producer_metrics::send_failed(observed_send const& m, failure const&)
{
    n_.add(id::messages_sent, 1);
    n_.record(id::send_duration, m.took, 1);
}

void producer_metrics::batch_done(std::size_t, std::size_t unconfirmed, tick::duration)
{
    n_.add(id::sends_unconfirmed, 0, unconfirmed);
}

void producer_metrics::explained(producer_explanation const& e)
{
    auto const waiting = e.held - e.under_way - e.put_off;
    std::size_t const held[] = {waiting, e.under_way, e.put_off, e.outside};
    for (std::size_t s = 0; s < std::size(held); ++s)
        looks_.set(id::producer_messages, s, static_cast<double>(held[s]));
    looks_.set(id::producer_calls, 0, static_cast<double>(e.calls));
    looks_.set(id::producer_calls_limit, 0, static_cast<double>(e.calls_now));
    for (std::size_t s = 0; s < std::size(telemetry::values::producer_bound); ++s)
        looks_.set(id::producer_bound, s, telemetry::values::producer_bound[s] == to_string(e.by) ? 1 : 0);
}

void producer_metrics::add_to(std::vector<telemetry::reading>& to) const
{
    auto out = n_.read();
    auto const looked = looks_.read();
    for (auto const& i : telemetry::instruments) {
        if (i.of != part::producer || i.what != telemetry::kind::gauge) continue;
        for (std::size_t s = 0; s < i.series(); ++s)
            if (auto const value = looked.gauge(i.which, s)) out.set(i.which, s, *value);
    }
    to.push_back(std::move(out));
    requests_.add_to(to);
}

} // namespace quern::metrics
