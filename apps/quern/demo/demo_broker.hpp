#pragma once

#include <quern/broker/server.hpp>

#include <boost/asio/io_context.hpp>

#include <string>
#include <thread>

namespace quern::app {

/// A broker on a free port of the loopback, with a context and a thread of its own: what talks to it does so over
/// HTTP, as to any other.
class demo_broker {
public:
    /// Throws boost::system::system_error when there is no port to be had.
    explicit demo_broker(aws::credentials);
    ~demo_broker();
    demo_broker(demo_broker const&) = delete;

    std::string const& url() const { return url_; }

    /// As of now. Any thread but the broker's.
    broker::server_counters counters();

private:
    boost::asio::io_context io_{1};
    broker::server server_;
    std::string url_;
    std::thread thread_;
};

} // namespace quern::app
