#pragma once

#include <quern/consumer/consumer.hpp>
#include <quern/consumer/forwarding_observer.hpp>
#include <quern/core/alarm.hpp>
#include <quern/metrics/consumer_metrics.hpp>
#include <quern/policy/replicas.hpp>
#include <quern/sqs/api.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace quern::metrics {

/// How many processes a queue needs, and what that follows from.
struct replica_advice {
    std::optional<std::size_t> replicas{}; ///< absent: not known yet
    std::string text;                      ///< for a human
};

struct replica_advisor_options {
    policy::replica_options rule{};
    /// Between two questions to SQS how full the queue is. SQS corrects its numbers about once a minute; 15 s are as
    /// often as an autoscaler usually asks.
    std::chrono::milliseconds every{15'000};
    clock* time = nullptr; ///< the real one when null
};

/// Watches one consumer and its queue, and tells how many processes like this one are needed: policy::replica_rule.
/// Observer of the consumer, and a source of quern_wanted_replicas.
///
/// Threads  the consumer's strand, which the executor given has to be, or to have; advice() and add_to() any.
class replica_advisor final : public forwarding_observer, public source {
public:
    /// Requires  options.rule.validate() found nothing. `next`: an observer that is told of all too; or null.
    replica_advisor(boost::asio::any_io_executor, std::string queue_url, replica_advisor_options,
        std::shared_ptr<observer> next = nullptr);

    /// Asks again and again until end(). `api` and the consumer outlive it.
    boost::asio::awaitable<void> run(sqs::api& api, consumer const&);
    void end();

    replica_advice advice() const;

    /// Labels of the number, as those of the consumer's; before anybody reads it.
    void label(telemetry::source_labels);
    void add_to(std::vector<telemetry::reading>&) const override;

    void settled(observed_message const&, message_end, std::chrono::seconds again) override;

private:
    policy::queue_load load(explanation const&, tick now);

    std::string const url_;
    replica_advisor_options const options_;
    clock& time_;
    policy::replica_rule rule_;
    alarm ended_;
    bool over_ = false;
    policy::queue_load own_;                           // done, held, handled
    std::deque<std::pair<tick, std::size_t>> put_off_; // until when how many are hidden, by seconds
    mutable std::mutex lock_;
    replica_advice advice_;
    telemetry::source_labels labels_;
};

} // namespace quern::metrics
