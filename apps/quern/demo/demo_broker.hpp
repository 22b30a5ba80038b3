#pragma once

#include <quern/broker/server.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <future>
#include <string>
#include <thread>
#include <utility>

namespace quern::app {

/// A broker on a free port of the loopback, with a context and a thread of its own: what talks to it does so over
/// HTTP, as to any other.
class demo_broker {
public:
    /// Throws boost::system::system_error when there is no port to be had.
    explicit demo_broker(aws::credentials key) : server_(io_.get_executor(), options_for(std::move(key)))
    {
        server_.listen().value();
        url_ = server_.url();
        thread_ = std::thread([this] { io_.run(); });
    }
    demo_broker(demo_broker const&) = delete;
    ~demo_broker()
    {
        boost::asio::co_spawn(io_, server_.stop(), [this](std::exception_ptr) { io_.stop(); });
        thread_.join();
    }

    std::string const& url() const { return url_; }

    /// As of now. Any thread but the broker's.
    broker::server_counters counters()
    {
        std::promise<broker::server_counters> told;
        boost::asio::post(io_, [&] { told.set_value(server_.counters()); });
        return told.get_future().get();
    }

private:
    static broker::server_options options_for(aws::credentials key)
    {
        broker::server_options out;
        out.port = 0;
        out.keys = {std::move(key)};
        return out;
    }

    boost::asio::io_context io_{1};
    broker::server server_;
    std::string url_;
    std::thread thread_;
};

} // namespace quern::app
