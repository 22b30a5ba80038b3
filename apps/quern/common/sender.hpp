#pragma once

#include <quern/core/alarm.hpp>
#include <quern/sqs/api.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace quern::app {

/// Sends messages in batches of ten, several calls at once; on a FIFO queue one call after the other, so that the
/// messages keep their order.
///
/// Lifetime  until finished() has completed.
/// Threads   one strand, that of the executor.
class sender {
public:
    /// Receives the fate of the message that was added as the `position`-th, from 0.
    using told = std::function<void(std::size_t position, result<sqs::send_message_response> const&)>;

    sender(boost::asio::any_io_executor, sqs::api&, std::string queue_url, told);

    /// Completes when there is room for another one: this is the back-pressure.
    boost::asio::awaitable<void> add(sqs::send_message_entry);

    /// Sends what was added, though it may be fewer than ten.
    boost::asio::awaitable<void> flush();

    /// Calls nobody any more: what has not left is answered with this, at the latest by finished().
    void give_up(failure why) { given_up_ = std::move(why); }

    /// Completes when all that was added has been answered.
    boost::asio::awaitable<void> finished();

private:
    boost::asio::awaitable<void> call(std::vector<sqs::send_message_entry>, std::size_t first);

    boost::asio::any_io_executor executor_;
    sqs::api& sqs_;
    std::string queue_url_;
    told tell_;
    std::size_t max_calls_;
    std::optional<failure> given_up_;
    std::vector<sqs::send_message_entry> batch_;
    std::size_t bytes_ = 0;   // of the batch
    std::size_t flushed_ = 0; // messages
    std::size_t calls_ = 0;   // under way
    alarm answered_;
};

} // namespace quern::app
