#pragma once

#include <quern/metrics/consumer_metrics.hpp>
#include <quern/metrics/producer_metrics.hpp>
#include <quern/telemetry/snapshot.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::metrics {

/// The numbers of a program, for whoever exports them:
///
///     quern::metrics::collection all("1.4.2");
///     auto const its = all.consumer(queue_url);
///     options.observer = its;
///     quern::consumer c(io, queue_url, handle, options);
///     its->follow(c);
///     ...
///     std::string const page = quern::telemetry::prometheus_text(all.snapshot());
///
/// Threads  any.
class collection {
public:
    /// `version`: the program's, for quern_build_info; empty: none. `time` outlives it.
    explicit collection(std::string version = {}, clock& time = real_clock());

    /// For a consumer of this queue. A second one of a queue with that name has the label consumer="2".
    std::shared_ptr<consumer_metrics> consumer(std::string_view queue_url);

    /// For a producer into this queue. A second one of a queue with that name has the label producer="2".
    std::shared_ptr<producer_metrics> producer(std::string_view queue_url);

    /// For a client that several share. A second one has the label client="2".
    std::shared_ptr<request_metrics> client();

    /// For what else has numbers; `read` may be called from any thread.
    void add(std::shared_ptr<source const>);
    void add(std::function<telemetry::reading()> read);

    /// For an exporter: an export that failed, or was left out.
    void drop();

    /// For an exporter of traces: spans that nobody took.
    void drop_spans(std::size_t);

    telemetry::snapshot snapshot() const;

private:
    class asked;
    class losses;
    using names = std::vector<std::pair<std::string, int>>; // of queues, and how many there are of each

    telemetry::source_labels labels_of(names&, std::string_view queue_url, char const* kind);

    clock& time_;
    wall_time const since_;
    std::shared_ptr<losses> const losses_;
    mutable std::mutex lock_;
    std::vector<std::shared_ptr<source const>> sources_;
    names consumers_, producers_;
    int clients_ = 0;
};

} // namespace quern::metrics
