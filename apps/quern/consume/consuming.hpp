#pragma once

#include "common/session.hpp"
#include "common/trace_export.hpp"
#include "consume/consume_options.hpp"

#include <quern/consumer/consumer.hpp>
#include <quern/core/alarm.hpp>
#include <quern/metrics/collection.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern::app {

// What `quern consume` and `quern relay` share: consumers from their first receive to their report.

class consume_work;

/// Events of their run.
struct consumer_news {
    explicit consumer_news(boost::asio::any_io_executor ex) : arrived(real_clock(), std::move(ex)) {}

    /// Has them drain, and the program end with status 1 and this complaint.
    void end_with(std::string why)
    {
        if (!complaint) complaint = std::move(why);
        arrived.ring();
    }

    alarm arrived;
    std::optional<std::string> complaint;
    std::optional<result<drain_report>> end;
    drain_report report;
    std::shared_ptr<trace_export> traces; ///< before the work is made; null: nobody wants them
};

/// Settings as they are now, after a change of files.
struct settings_again {
    std::string of; ///< the file
    consumer_limits limits;
    std::vector<std::string> turned, need_restart; ///< names of options that differ from those at the start
};

/// The work on each message, and what goes with it.
struct consumer_work {
    std::string program;                                              ///< "quern consume", for whoever watches it
    std::function<handler(std::string const& url)> handle;            ///< makes the handler of a queue
    std::function<batch_handler(std::string const& url)> handle_many; ///< that, for several messages at once; or null
    std::function<std::string()> statistics;                          ///< a line for the log; null: none
    std::optional<std::chrono::milliseconds> statistics_every;        ///< absent: never
    std::function<void(consume_work&)> started;                       ///< once they run; null: nothing
    std::function<result<settings_again>()> read_again;               ///< at SIGHUP; null: there is no file
    /// Adds numbers of its own, with the labels of the queue's; null: it has none.
    std::function<void(std::string const& url, telemetry::source_labels const&, metrics::collection&)> show;

    std::function<void()> ended; ///< before the consumers go; null: nothing
    std::shared_ptr<void> keeps; ///< alive as long as the consumers
};

/// Makes the work, once it is known where the messages come from; may change the settings.
using make_work = std::function<result<consumer_work>(
    std::vector<std::string> const& urls, consumer_options&, std::shared_ptr<consumer_news>)>;

/// Consumes the queues until a signal, until they are empty where the options say so, or until the news say that it
/// must end. Completes with the exit code.
boost::asio::awaitable<int> consume_queues(session&, consume_options const&, make_work const&);

} // namespace quern::app
