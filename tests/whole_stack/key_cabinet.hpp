#pragma once

#include <quern/core/clock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <cstddef>
#include <ctime>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace quern::test {

namespace asio = boost::asio;
using asio::ip::tcp;

inline constexpr auto as_values = asio::as_tuple(asio::use_awaitable);

inline void rethrow(std::exception_ptr bug)
{
    if (bug) std::rethrow_exception(bug);
}

/// Hands out keys that end, as ECS does, and counts how often it is asked.
class key_cabinet {
public:
    key_cabinet(asio::io_context& io, std::chrono::seconds last)
        : io_(io), last_(last), door_(io, {asio::ip::address_v4::loopback(), 0})
    {
        asio::co_spawn(io_, serve(), rethrow);
    }

    std::string url() const { return "http://127.0.0.1:" + std::to_string(door_.local_endpoint().port()) + "/keys"; }

    std::size_t asked = 0;
    bool is_silent = false;

private:
    asio::awaitable<void> serve()
    {
        for (;;) {
            auto [failed, one] = co_await door_.async_accept(as_values);
            if (failed) co_return;
            ++asked;
            if (is_silent)
                left_waiting_.push_back(std::move(one));
            else
                asio::co_spawn(io_, answer(std::move(one)), rethrow);
        }
    }

    asio::awaitable<void> answer(tcp::socket to)
    {
        std::string request;
        auto const [failed, size] =
            co_await asio::async_read_until(to, asio::dynamic_buffer(request), "\r\n\r\n", as_values);
        if (failed) co_return;
        auto const ends = std::chrono::system_clock::to_time_t(real_clock().wall() + last_);
        char text[32];
        std::tm parts{};
        std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", ::gmtime_r(&ends, &parts));
        auto const body = R"({"AccessKeyId":"quern","SecretAccessKey":"quern","Token":"","Expiration":")" +
            std::string(text) + "\"}";
        auto const said =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n\r\n" + body;
        co_await asio::async_write(to, asio::buffer(said), as_values);
    }

    asio::io_context& io_;
    std::chrono::seconds const last_;
    tcp::acceptor door_;
    std::vector<tcp::socket> left_waiting_;
};

} // namespace quern::test
