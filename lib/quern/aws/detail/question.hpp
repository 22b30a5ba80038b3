#pragma once

#include <quern/aws/credentials/credentials.hpp>
#include <quern/core/alarm.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace quern::aws::detail {

/// A provider is asked on an account of its own: it may take longer than whoever asked can wait.
struct question {
    question(std::shared_ptr<credentials_provider> p, clock& t, boost::asio::any_io_executor e)
        : of(std::move(p)), time(t), ex(std::move(e)), answered(time, ex)
    {}

    std::shared_ptr<credentials_provider> const of;
    clock& time;
    boost::asio::any_io_executor const ex;
    alarm answered;
    boost::asio::cancellation_signal cancel;
    std::optional<result<shared_credentials>> answer;
    std::exception_ptr thrown;
};

/// Asks, and completes with the answer. The wait ends after `left`, from which it takes the time that it lasts, or
/// when `answered` is rung; without an answer the question is cancelled then.
///
/// Fails with    errc::timed_out, errc::stopped when cancelled, and as the provider does
/// Cancellation  terminal.
boost::asio::awaitable<result<shared_credentials>> answer_to(
    std::shared_ptr<question>, std::chrono::milliseconds& left);

/// The failure of whoever has waited for the whole of its time.
inline failure no_answer_in_time()
{
    return {errc::timed_out, "deadline passed while waiting for credentials", true};
}

} // namespace quern::aws::detail
