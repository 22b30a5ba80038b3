#pragma once

#include "support/run.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <charconv>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace quern::test {

/// A server of which every test writes the words: accept, read a request, say something, hang up.
class loopback {
public:
    using socket = boost::asio::ip::tcp::socket;

    explicit loopback(boost::asio::io_context& io) : acceptor_(io, {boost::asio::ip::address_v4::loopback(), 0}) {}

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }

    boost::asio::awaitable<socket> accept() { return acceptor_.async_accept(boost::asio::use_awaitable); }

    /// Refuses whoever connects from now on.
    void close() { acceptor_.close(); }

private:
    boost::asio::ip::tcp::acceptor acceptor_;
};

/// A whole request, headers and body, as it came.
template <class Stream>
boost::asio::awaitable<std::string> read_request(Stream& from)
{
    std::string text;
    auto const buffer = boost::asio::dynamic_buffer(text);
    auto const head = co_await boost::asio::async_read_until(from, buffer, "\r\n\r\n", boost::asio::use_awaitable);
    std::size_t length = 0;
    for (auto const* const name : {"content-length: ", "Content-Length: "}) {
        if (auto const at = text.find(name); at < head)
            std::from_chars(text.data() + at + 16, text.data() + head, length);
    }
    if (auto const have = text.size() - head; have < length) {
        auto const rest = boost::asio::transfer_exactly(length - have);
        co_await boost::asio::async_read(from, buffer, rest, boost::asio::use_awaitable);
    }
    co_return text;
}

template <class Stream>
boost::asio::awaitable<void> say(Stream& to, std::string text)
{
    co_await boost::asio::async_write(to, boost::asio::buffer(text), boost::asio::use_awaitable);
}

inline std::string http_reply(std::string const& body, std::string const& head = "HTTP/1.1 200 OK")
{
    return head + "\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// The other side of a conversation: an exception in it fails the test instead of vanishing.
inline void play(boost::asio::io_context& io, boost::asio::awaitable<void> part)
{
    boost::asio::co_spawn(io, std::move(part), [](std::exception_ptr e) {
        if (e) std::rethrow_exception(e);
    });
}

} // namespace quern::test
