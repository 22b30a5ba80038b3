#pragma once

#include <quern/core/alarm.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

namespace quern::net::detail {

/// Part of each of our servers that comes before anything is said: listens, accepts, and looks at deadlines now and
/// then.
///
/// Threads  one at a time, on the executor.
class listener {
public:
    /// A server, which does this with those who come.
    struct host {
        std::shared_ptr<void> owner; ///< of the listener too: kept until its coroutines have ended
        std::function<void(boost::asio::ip::tcp::socket)> take;

        /// Closes those whose deadline is over. False: there is nobody to look at, until the next one is taken.
        std::function<bool(tick now)> look;
        std::chrono::milliseconds look_every;
    };

    listener(boost::asio::any_io_executor, clock&);

    /// Binds. An address of all, "::", is one for IPv4 too. Fails when it is taken or none of this machine's.
    [[nodiscard]] result<void> listen(std::string const& address, std::uint16_t port);
    std::uint16_t port() const { return port_; }       ///< 0 before listen()
    std::string origin(std::string_view scheme) const; ///< "http://127.0.0.1:9324"

    void begin(host);
    void stop_accepting(); ///< deadlines are kept all the same
    void close();

    /// How often to look so that none of these is overrun by much.
    static std::chrono::milliseconds interval_for(std::initializer_list<std::chrono::milliseconds> timeouts);

private:
    boost::asio::awaitable<void> accept();
    boost::asio::awaitable<void> keep_deadlines();

    clock& time_;
    boost::asio::any_io_executor executor_;
    boost::asio::ip::tcp::acceptor acceptor_;
    alarm watch_; ///< rung when there is a deadline to keep again
    host host_;
    std::string address_;
    std::uint16_t port_ = 0;
    bool anybody_ = false; ///< had a deadline when it last looked
    bool closed_ = false;
};

} // namespace quern::net::detail
