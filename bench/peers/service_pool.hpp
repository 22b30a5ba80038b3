// Connections of one thread to the service that handlers ask, where a scenario has one.
#pragma once

#include "contender.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Asks with the least of HTTP, a request a connection at a time: the wait is measured and not an HTTP client.
class service_pool {
public:
    explicit service_pool(std::string const& address)
    {
        auto const colon = address.find(':');
        using boost::asio::ip::make_address;
        to_ = {make_address(address.substr(0, colon)),
            static_cast<std::uint16_t>(number(std::string_view(address).substr(colon + 1)))};
    }

    boost::asio::awaitable<void> ask()
    {
        using boost::asio::use_awaitable;
        auto const ex = co_await boost::asio::this_coro::executor;
        std::optional<boost::asio::ip::tcp::socket> with;
        if (idle_.empty()) {
            with.emplace(ex);
            co_await with->async_connect(to_, use_awaitable);
            with->set_option(boost::asio::ip::tcp::no_delay(true));
        } else {
            with = std::move(idle_.back());
            idle_.pop_back();
        }
        static constexpr std::string_view request =
            "POST /hook HTTP/1.1\r\nHost: service\r\nContent-Length: 0\r\n\r\n";
        co_await boost::asio::async_write(*with, boost::asio::buffer(request), use_awaitable);
        char answer[1024];
        std::size_t got = 0;
        while (got < 4 || std::string_view(answer, got).substr(got - 4) != "\r\n\r\n")
            got +=
                co_await with->async_read_some(boost::asio::buffer(answer + got, sizeof answer - got), use_awaitable);
        idle_.push_back(std::move(*with));
    }

private:
    boost::asio::ip::tcp::endpoint to_;
    std::vector<boost::asio::ip::tcp::socket> idle_;
};

} // namespace bench
