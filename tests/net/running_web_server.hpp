#pragma once

#include <quern/net/web_server.hpp>

#include "broker/server_clock.hpp"
#include "support/socket_client.hpp"
#include "support/wait_until.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace quern::test {

namespace asio = boost::asio;

inline net::web_answer serve(net::web_request const& r)
{
    net::web_answer out;
    if (r.path == "/bug") throw std::runtime_error("a secret");
    if (r.path == "/follow") {
        out.follows = true;
        out.body = "first\n";
    } else if (r.method == "POST") {
        out.body = "took " + std::string(r.path) + ' ' + std::string(r.body);
    } else if (r.path == "/large") {
        out.body.assign(8 * 1024 * 1024, 'x');
    } else if (r.path == "/") {
        out.body = "hello " + std::string(r.query);
    } else {
        out.status = 404;
    }
    return out;
}

/// A server of a few answers, with time that stands still, on a thread of its own.
class running {
public:
    explicit running(net::web_server_options options = {}) : server_(io_.get_executor(), options, serve, clock_)
    {
        server_.listen().value();
        port = server_.port();
        thread_ = std::thread([this] { io_.run(); });
    }
    ~running()
    {
        close();
        work_.reset();
        thread_.join();
    }

    socket_client connect() const { return socket_client(port); }

    template <class F>
    auto on_it(F f)
    {
        std::packaged_task<decltype(f())()> task(std::move(f));
        auto out = task.get_future();
        asio::post(io_, [&task] { task(); });
        return out.get();
    }
    void close()
    {
        on_it([this] { server_.close(); });
    }
    void advance(tick::duration by)
    {
        counters(); // a client can have its answer before the server's deadlines are set: let it end its turn
        on_it([this, by] { clock_.advance(by); });
    }
    void tell(std::string const& piece)
    {
        on_it([&] { server_.tell(piece); });
    }
    net::web_server_counters counters()
    {
        return on_it([this] { return server_.counters(); });
    }
    template <class Condition>
    void until_counters(Condition hold)
    {
        wait_until([&] { return hold(counters()); });
    }

    std::string token() const { return std::string(server_.token()); }

    std::uint16_t port = 0;

private:
    standing_clock clock_;
    asio::io_context io_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_ = make_work_guard(io_);
    net::web_server server_;
    std::thread thread_;
};

} // namespace quern::test
