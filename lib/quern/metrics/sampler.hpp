#pragma once

#include <quern/core/alarm.hpp>
#include <quern/metrics/collection.hpp>
#include <quern/producer/producer.hpp>
#include <quern/sqs/api.hpp>
#include <quern/telemetry/log.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::metrics {

struct sampler_options {
    /// Between two looks at a consumer or a producer, which cost next to nothing.
    std::chrono::milliseconds look_every{5'000};

    /// Between two questions to SQS how many messages are in a queue and in its dead-letter queue: SQS corrects these
    /// numbers about once a minute, and each question is a request that costs. Absent: never.
    std::optional<std::chrono::milliseconds> depth_every{60'000};

    log_sink log = to_standard_error();
    clock* time = nullptr; ///< the real one when null
};

/// Looks now and then at what has no event: what consumers are doing, and how full their queues are.
///
/// A queue that does not answer loses its numbers, rather than keep old ones.
///
/// Threads  one strand: the executor given.
class sampler {
public:
    /// `api` outlives run().
    sampler(boost::asio::any_io_executor, sqs::api&, collection&, sampler_options = sampler_options());

    /// Before run(). The consumer outlives run().
    void add(consumer const&, std::string queue_url, std::shared_ptr<consumer_metrics>);

    /// Before run(). The producer outlives run().
    void add(producer const&, std::shared_ptr<producer_metrics>);

    /// Looks at all at once, and again and again until end().
    boost::asio::awaitable<void> run();

    /// Ends run(), once a question that is under way is answered.
    void end();

private:
    class shown;
    struct depths;
    struct watched {
        consumer const* of;
        std::string url;
        std::shared_ptr<consumer_metrics> to;
        std::shared_ptr<depths> depth;
    };
    struct sender {
        producer const* of;
        std::shared_ptr<producer_metrics> to;
    };
    boost::asio::awaitable<void> look(watched const&);
    boost::asio::awaitable<void> ask(watched const&);
    std::shared_ptr<shown> dead_letters_of(watched const&, std::string const& arn);
    boost::asio::awaitable<std::optional<std::string>> dead_letter_url(std::string_view arn);

    sqs::api& sqs_;
    collection& all_;
    sampler_options options_;
    clock& time_;
    log_throttle log_;
    std::vector<watched> watched_;
    std::vector<sender> senders_;
    alarm ended_;
    bool over_ = false;
};

} // namespace quern::metrics
