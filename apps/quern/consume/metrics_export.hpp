#pragma once

#include "common/session.hpp"
#include "consume/consume_work.hpp"

#include <quern/metrics/collection.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace quern::app {

/// The numbers of `quern consume` and `quern relay`, and where they are sent while these run.
class metrics_export {
public:
    /// `form`: "emf", "otlp", "cloudwatch"; empty: they are sent nowhere. Null when they are not `shown` either:
    /// nobody wants them.
    ///
    /// Fails with  errc::invalid_option  a variable of OpenTelemetry cannot be followed, or CloudWatch cannot be
    ///                                   found
    static result<std::unique_ptr<metrics_export>> to(session&, std::string const& form, bool shown);

    ~metrics_export();

    metrics::collection& all();

    /// Counts spans that nobody takes, among all numbers; works when this has gone, which an export may outlive.
    std::function<void(std::size_t)> count_dropped() const;

    /// For the consumer of this queue, and the client that all share.
    std::shared_ptr<observer> of_queue(std::string const& url);
    std::shared_ptr<sqs::request_observer> of_client();

    /// Labels of the numbers of that consumer, which has an observer from here.
    telemetry::source_labels const& labels_of(std::string const& url) const;

    void begin(consume_work const&);

    /// Completes when all is sent, and within the limit. The consumers may go then.
    boost::asio::awaitable<void> finish(std::chrono::milliseconds limit);

private:
    struct station;
    explicit metrics_export(std::shared_ptr<station>);
    std::shared_ptr<station> at_;
};

} // namespace quern::app
