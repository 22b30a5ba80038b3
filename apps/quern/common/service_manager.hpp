#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace quern::app {

/// The service manager that started this process, where it did with a socket for news: systemd, of a unit with
/// Type=notify. Source of the protocol: sd_notify(3), sd_watchdog_enabled(3) of systemd 252.
///
/// Threads  the executor's only one. Nobody waits for an answer; news that cannot be sent are dropped.
class service_manager {
public:
    /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID of the environment.
    explicit service_manager(boost::asio::any_io_executor);
    service_manager(service_manager const&) = delete;
    service_manager& operator=(service_manager const&) = delete;
    ~service_manager(); ///< nothing tells the watchdog any more

    /// Tells that the work has begun. From now on the watchdog hears, where there is one, twice in the time that it
    /// waits, that the executor runs and that `alive` says yes; null: that it runs.
    void ready(std::string const& status, std::function<boost::asio::awaitable<bool>()> alive = nullptr);

    /// Tells that the end has begun.
    void stopping();

private:
    struct watchdog;

    boost::asio::any_io_executor ex_;
    std::string socket_; ///< empty: there is none
    std::optional<std::chrono::microseconds> patience_;
    std::shared_ptr<watchdog> watchdog_;
};

} // namespace quern::app
