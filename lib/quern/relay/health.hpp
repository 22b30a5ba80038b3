#pragma once

#include <quern/core/alarm.hpp>
#include <quern/core/clock.hpp>
#include <quern/net/endpoint.hpp>
#include <quern/net/web_hook.hpp>
#include <quern/relay/status_set.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace quern::relay {

struct health_options {
    net::endpoint url{};
    std::string unix_socket{}; ///< as of the requests
    std::chrono::milliseconds interval{10'000};
    std::chrono::milliseconds timeout{2'000};
    std::size_t down_after = 3; ///< failed checks in a row
    std::size_t up_after = 1;   ///< good ones in a row, once it is down
    status_set healthy{"2xx"};
};

/// The rule of health checks: a change takes several checks of a kind in a row.
class health_rule {
public:
    health_rule(std::size_t down_after, std::size_t up_after) : down_after_(down_after), up_after_(up_after) {}

    /// Takes a check up; returns what changes: true, it is down from now on; false, it is up again.
    std::optional<bool> checked(bool good);

private:
    std::size_t down_after_, up_after_;
    std::size_t in_a_row_ = 0; // of those that speak against how it is now
    bool down_ = false;
};

/// Asks a URL again and again whether a web service is well. A hint for the breaker, consumer::report_outage(): what
/// answers here may still refuse messages, and that shows when one probes.
///
/// Threads  one strand, the sender's.
class health_check {
public:
    health_check(boost::asio::any_io_executor, net::web_hook_sender&, health_options, clock&);

    /// Checks now and then after each interval, until end(). `changed(down, why)` is told of changes, on the strand.
    boost::asio::awaitable<void> run(std::function<void(bool down, std::string why)> changed);

    /// Checks until it is well once, for so long at most; completes with why it is not, or nothing when it is.
    boost::asio::awaitable<std::optional<std::string>> well_within(std::chrono::milliseconds limit);

    /// Ends run(), once a check that is under way has ended.
    void end();

private:
    boost::asio::awaitable<std::string> check();

    net::web_hook_sender& sender_;
    health_options options_;
    clock& time_;
    alarm ended_;
    bool over_ = false;
};

} // namespace quern::relay
