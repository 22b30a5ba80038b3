#pragma once

#include <quern/core/completion.hpp>
#include <quern/producer/explanation.hpp>
#include <quern/producer/options.hpp>
#include <quern/sqs/api.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/execution_context.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace quern {

/// Sends single messages to one queue in shared requests: up to ten messages and 1 MiB in each.
///
/// A lone message goes at once. While a request is under way others gather, and go when it is full, when it returns,
/// or after options.linger. What fails and may succeed later (throttling, errors of the service, a lost connection)
/// is tried again, message by message, until options.give_up_after; what SQS refuses is told to the sender of that
/// message alone.
///
/// Twice     A request whose answer is lost may have been carried out, and is tried again: a standard queue then has
///           its messages twice. A FIFO queue has not, since every message has a deduplication id, see
///           options.content_based_deduplication.
/// Order     FIFO queues (".fifo") keep it within a message group: that in which send() was begun. A message that
///           fails holds up its group until it is confirmed or given up; the later ones then go all the same, so
///           await each where a later one must not go without it. Between groups, and on standard queues, there is no
///           order.
/// Lifetime  destroying the object fails what is not under way with errc::stopped; requests under way end by
///           themselves, and their sends get their results. close() first to lose nothing.
/// Threads   any, for every call and for destruction; only no call may be under way while it is destroyed. The state
///           is touched on a strand of the executor; a caller's coroutine goes on on its own executor.
/// Work      keeps the io_context running only while there are messages.
class producer {
public:
    /// A producer with a client of its own, set up from the environment (AWS_REGION, AWS_ENDPOINT_URL_SQS,
    /// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN).
    ///
    /// `queue_url` may be a queue's name or its ARN as well, as for a consumer: sends wait until the URL is found,
    /// and a failure of that is tried again as one of theirs.
    ///
    /// Throws boost::system::system_error that names the option or the variable when one is missing or wrong.
    producer(boost::asio::any_io_executor, std::string queue_url, producer_options = producer_options());
    template <std::derived_from<boost::asio::execution_context> Context>
    producer(Context& where, std::string queue_url, producer_options options = producer_options())
        : producer(boost::asio::any_io_executor(where.get_executor()), std::move(queue_url), std::move(options))
    {}

    /// A producer that speaks through `api`, which is safe to call on the producer's strand, and outlives the
    /// requests unless it is an sqs::client: without that, sends fail with errc::stopped. An sqs::client should make
    /// a single attempt (retry_options::max_attempts = 1), since the producer tries again.
    producer(
        boost::asio::any_io_executor, sqs::api& api, std::string queue_url, producer_options = producer_options());

    /// Moves; the object moved from may be destroyed, or assigned to, and nothing else.
    producer(producer&&) noexcept = default;
    producer& operator=(producer&&) noexcept;
    ~producer();

    using executor_type = boost::asio::any_io_executor;

    /// The one that was given.
    executor_type get_executor() const { return ex_; }

    /// Sends one message; its `id` is ignored.
    ///
    /// Completes     when SQS has confirmed the message, with its id and on FIFO queues its sequence number; or when
    ///               it has failed for good. While the buffer is full it waits for room before anything else.
    /// Fails with    errc::invalid_request  a field breaks a limit, or a FIFO message has no group
    ///               errc::timed_out        give_up_after ended while it waited for room, a free request, or its
    ///                                      group
    ///               errc::stopped          cancelled, closed or destroyed
    ///               else the failure of the last try, see sqs::send_batch. Where the answer to any try was lost, the
    ///               message may be in the queue all the same.
    /// Cancellation  terminal, with errc::stopped: a message that waits is withdrawn. One that was under way may or
    ///               may not be in the queue; it is not tried again.
    /// Completion    void(result<sqs::send_message_response>)
    template <class Token = boost::asio::use_awaitable_t<>>
    auto send(sqs::send_message_entry entry, Token&& token = {})
    {
        if constexpr (detail::is_default_token<Token>)
            return put(std::move(entry));
        else
            return detail::complete(
                *this, [this, entry = std::move(entry)] { return put(entry); }, std::forward<Token>(token));
    }

    /// Sends what is here without waiting for company. Completes when all of it is confirmed or has failed, with the
    /// number of messages that were not confirmed.
    ///
    /// Cancellation  terminal: ends the wait and nothing else.
    /// Completion    void(error_code, std::size_t)
    template <class Token = boost::asio::use_awaitable_t<>>
    auto flush(Token&& token = {})
    {
        return detail::complete(
            *this, [this] { return look_on({}); }, std::forward<Token>(token));
    }

    /// Takes no more messages, and flushes. What is not done after `limit` (0 to 48 h; what is beyond is cut) fails
    /// with errc::stopped; if it was under way it may or may not be in the queue. Of several calls the shortest limit
    /// counts.
    ///
    /// Cancellation  as flush().
    /// Completion    void(error_code, std::size_t)
    template <class Token = boost::asio::use_awaitable_t<>>
    auto close(std::chrono::milliseconds limit, Token&& token = {})
    {
        return detail::complete(
            *this, [this, limit] { return look_on(limit); }, std::forward<Token>(token));
    }

    /// Completes with what it holds, and what bounds its speed. to_string() makes one line of it: "16 requests under
    /// way, 10000 messages held; calls are the bound: 16 (max_calls) of 10 messages and 10.0 ms each make 16000
    /// messages a second".
    ///
    /// Cancellation  none: the answer is there in a moment.
    /// Completion    void(error_code, producer_explanation)
    template <class Token = boost::asio::use_awaitable_t<>>
    auto explain(Token&& token = {}) const
    {
        return detail::complete(
            *this, [this] { return explained(); }, std::forward<Token>(token));
    }

private:
    class state;

    boost::asio::awaitable<result<sqs::send_message_response>> put(sqs::send_message_entry);
    boost::asio::awaitable<producer_explanation> explained() const;
    boost::asio::awaitable<std::size_t> look_on(std::optional<std::chrono::milliseconds> closes_within);

    boost::asio::any_io_executor ex_;
    std::shared_ptr<state> state_;
};

} // namespace quern
