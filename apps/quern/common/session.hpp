#pragma once

#include "common/complaint.hpp"
#include "common/endpoint_options.hpp"

#include <quern/sqs/client.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace quern::app {

/// The parts of a command that talks to SQS: one context, run by the main thread alone, and a client on it.
struct session {
    explicit session(sqs::client_options how) : options(std::move(how)), sqs(io.get_executor(), options) {}

    sqs::client_options const options;
    boost::asio::io_context io{1};
    sqs::client sqs;
    std::optional<sqs::client> consumers; ///< another for a consumer: what that leaves under way must not outlive it

    /// `about`: the queue, where there are two of them.
    exit_code complain(failure const& why, std::string const& about = {}) const
    {
        auto const text = explain(why, sqs.endpoint(), options.where.region);
        return app::complain(about.empty() ? text : about + ": " + text, blames_usage(why) ? usage : failed);
    }
};

using work = std::function<boost::asio::awaitable<int>(session&)>;

/// Runs the context until the coroutine has ended, and returns what that returned.
int run(boost::asio::io_context&, boost::asio::awaitable<int>);

/// Runs the command until its coroutine has ended, and returns its exit code.
int run(session&, work const&);

/// The same with a session made for these options; `queue` as for client_options_from().
int run(endpoint_options const&, std::string_view queue, work const&);

} // namespace quern::app
