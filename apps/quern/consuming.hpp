#pragma once

#include "consume_options.hpp"
#include "session.hpp"

#include <quern/consumer/consumer.hpp>
#include <quern/core/alarm.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace quern::app {

// What `quern consume` and `quern relay` share: a consumer from its first receive to its report.

/// What happens while the consumer runs.
struct consumer_news {
    explicit consumer_news(boost::asio::any_io_executor ex) : arrived(real_clock(), std::move(ex)) {}

    /// Has the consumer drain, and the program end with status 1 and this complaint.
    void end_with(std::string why)
    {
        if (!complaint) complaint = std::move(why);
        arrived.ring();
    }

    alarm arrived;
    std::optional<std::string> complaint;
    std::optional<result<drain_report>> end;
    drain_report report;
};

/// The work on each message, and what goes with it.
struct consumer_work {
    handler handle;
    std::function<std::string()> statistics;  ///< a line for the log; null: none
    std::chrono::seconds statistics_every{0}; ///< zero: never
    std::function<void(consumer&)> started;   ///< null: nothing
    std::function<void()> ended;              ///< before the consumer goes; null: nothing
    std::shared_ptr<void> keeps;              ///< alive as long as the consumer
};

/// Makes the work, once it is known where the messages come from; may change the settings.
using make_work =
    std::function<result<consumer_work>(std::string const& url, consumer_options&, std::shared_ptr<consumer_news>)>;

/// Consumes the queue until a signal, until it is empty where the options say so, or until the news say that it must end.
/// Completes with the exit code.
boost::asio::awaitable<int> consume_queue(session&, consume_options const&, make_work const&);

} // namespace quern::app
