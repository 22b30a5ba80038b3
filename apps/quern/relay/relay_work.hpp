#pragma once

#include "consume/consuming.hpp"
#include "relay/relay_settings.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/signal_set.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace quern::app {

using reread_settings = std::function<result<relay_settings>()>;

/// The relay as the work of the consumers of these queues, the first of which has the settings' URL and the others
/// those of routes: its handlers, its web client, its health checks, its statistics. `reread` brings the settings
/// anew at each signal of `told`, earlier ones too: those of requests and rules are taken up, the others need a new
/// start.
///
/// Fails with  errc::invalid_option  a file that is named cannot be read
result<consumer_work> relay_work(session&, std::vector<std::string> const& queue_urls, relay_settings const&,
    consumer_options&, std::shared_ptr<consumer_news>, reread_settings reread,
    std::shared_ptr<boost::asio::signal_set> told);

/// Sends the body of an answer to that queue, with the id of the message that it answers as attribute QuernMessageId;
/// to a FIFO queue with that message's group, and its id for deduplication. An empty body is no reply.
/// One that no message may have goes as base64, with the attribute QuernEncoding.
boost::asio::awaitable<result<void>> send_reply(
    sqs::api&, std::string queue_url, delivery const&, net::response const&);

/// Completes with true when the web service is healthy, with false when SIGINT or SIGTERM ends the wait: as the first
/// process of a container the program would hear neither without a handler.
///
/// Fails with  errc::timed_out  the time is up; why it is not healthy
boost::asio::awaitable<result<bool>> wait_until_healthy(boost::asio::io_context&, relay_settings const&);

/// "requests 120, acked 110, retried 8, ..."
std::string relay_statistics(
    relay::relay_counters const&, std::optional<policy::rate> const& at_most, std::size_t connections);

} // namespace quern::app
