#pragma once

#include <quern/aws/credentials/credentials.hpp>
#include <quern/core/alarm.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace quern::aws {

/// A provider is asked on an account of its own: it may take longer than whoever asked can wait.
struct question {
    question(std::shared_ptr<credentials_provider> p, clock& time, boost::asio::any_io_executor ex)
        : of(std::move(p)), answered(time, std::move(ex))
    {}

    std::shared_ptr<credentials_provider> const of;
    alarm answered;
    boost::asio::cancellation_signal cancel;
    std::optional<result<shared_credentials>> answer;
    std::exception_ptr thrown;
};

inline void ask(std::shared_ptr<question> const& what, boost::asio::any_io_executor const& ex)
{
    auto const done = [what](std::exception_ptr thrown, result<shared_credentials> found) {
        what->thrown = thrown;
        what->answer = std::move(found);
        what->answered.ring();
    };
    boost::asio::co_spawn(ex, what->of->get(), boost::asio::bind_cancellation_slot(what->cancel.slot(), done));
}

/// The failure of whoever has waited for the whole of its time.
inline failure no_answer_in_time()
{
    return {errc::timed_out, "deadline passed while waiting for credentials", true};
}

} // namespace quern::aws
