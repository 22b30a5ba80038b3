#pragma once

#include <quern/core/clock.hpp>
#include <quern/redrive/detail/held_messages.hpp>
#include <quern/sqs/api.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <functional>
#include <string>

namespace quern::app {

/// Receives messages of a queue for a command that only looks at them: nobody else sees them until they are given
/// back. See redrive::detail::held_messages for what a process leaves hidden that is killed.
///
/// Lifetime  the api and the clock outlive it.
/// Threads   one strand.
class looking {
public:
    /// `over`: whether to end soon; then what is due is not extended any more.
    looking(sqs::api&, std::string queue_url, std::function<bool()> over, clock& = real_clock());

    /// Extends what is due, and receives up to so many; waits a second for the first. Empty as well when it is over.
    sqs::answer<sqs::receive_message_response> receive(std::size_t most);

    /// Gives back no more what is deleted.
    void forget(std::string const& id) { held_.forget(id); }

    /// Makes all visible again. The number of those of which that was not confirmed.
    boost::asio::awaitable<std::size_t> give_back();

    std::size_t requests() const { return requests_; } ///< so far

private:
    sqs::api& api_;
    std::string const url_;
    std::function<bool()> const over_;
    clock& time_;
    redrive::detail::held_messages held_;
    std::size_t requests_ = 0;
};

} // namespace quern::app
