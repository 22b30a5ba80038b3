#pragma once

#include <quern/consumer/consumer_group.hpp>

#include <boost/asio/io_context.hpp>

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern::app {

/// The consumers of `quern consume`: one, or several that share max_in_flight.
class consume_work {
public:
    /// `handle` makes the handler of a queue by its URL, or `many` one of several messages, where that is not null;
    /// `watch` makes its observer; null: none.
    consume_work(boost::asio::io_context&, sqs::api&, std::vector<std::string> const& urls,
        std::function<handler(std::string const& url)> const& handle,
        std::function<batch_handler(std::string const& url)> const& many,
        std::function<std::shared_ptr<observer>(std::string const& url)> const& watch, consumer_options);

    struct queue {
        std::string url;
        consumer& of;
    };
    std::vector<queue> const& queues() const { return queues_; }

    /// Completes when all have drained.
    boost::asio::awaitable<result<drain_report>> run();
    boost::asio::awaitable<drain_report> drained();
    void stop(std::chrono::milliseconds limit);
    void drain_on(std::initializer_list<int> signals, std::chrono::milliseconds limit);

    /// max_in_flight is that of all together, the others are those of each.
    boost::asio::awaitable<result<void>> set_limits(consumer_limits);

    /// A bound of the rate besides that of options and set_limits(): the lowest one is in force. Absent: none.
    boost::asio::awaitable<result<void>> limit_rate(std::optional<policy::rate>);

    /// The rate of the options is the first slice of a fleet's budget, and no other bound. Nothing is received before
    /// the next one. Before run().
    void begin_with_slice();
    /// The next slice: a bound of the rate besides the others, and of handlers at once besides that of the options.
    boost::asio::awaitable<result<void>> set_slice(consumer_limits);

    /// The report of all as JSON, and where there are several queues what became of the messages of each.
    std::string report(drain_report const&) const;

private:
    std::optional<policy::rate> rate_in_force() const;

    consumer_limits limits_; // without the bounds
    std::optional<policy::rate> bound_, slice_;
    std::optional<std::size_t> handlers_of_slice_;
    bool has_slice_ = false;
    std::optional<consumer> one_;
    std::optional<consumer_group> several_;
    std::vector<queue> queues_;
};

/// The options of the consumers' client, from those of the session: keys are found once for both. Connections are
/// opened as they are needed, and settings may want more than the options.
sqs::client_options consume_client_options(sqs::client_options of_session, std::shared_ptr<aws::credentials_provider>,
    consumer_options const&, std::size_t queues, bool may_be_turned);

} // namespace quern::app
