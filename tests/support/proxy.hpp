#pragma once

#include "support/loopback.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>

#include <array>
#include <list>
#include <memory>
#include <optional>
#include <vector>

namespace quern::test {

/// An HTTP proxy: tunnels with CONNECT, and passes requests with an absolute target on. Wherever they are bound, all
/// lead to one port of this machine: names need not exist.
class proxy : public std::enable_shared_from_this<proxy> {
public:
    using tcp = boost::asio::ip::tcp;

    proxy(boost::asio::io_context& io, std::uint16_t target) : io_(io), target_(target) { listen(0); }

    std::uint16_t port() const { return port_; }
    std::string url(std::string const& user_info = "") const
    {
        return "http://" + user_info + "127.0.0.1:" + std::to_string(port_);
    }

    void start() { play(io_, accept(acceptor_)); }

    /// The process is gone, and all of its connections with it.
    void die()
    {
        acceptor_->close();
        boost::system::error_code ignored;
        for (auto& each : sockets_)
            each->close(ignored);
        sockets_.clear();
    }

    /// Another one takes over its port.
    void revive()
    {
        listen(port_);
        start();
    }

    std::vector<std::string> heads;         ///< of the requests, as they came
    std::optional<std::string> credentials; ///< that Proxy-Authorization must have
    std::string refusal;                    ///< status and reason to answer with instead of a tunnel

private:
    using socket_ptr = std::shared_ptr<tcp::socket>;
    static constexpr auto as_values = boost::asio::as_tuple(boost::asio::use_awaitable);

    void listen(std::uint16_t port)
    {
        acceptor_ =
            std::make_shared<tcp::acceptor>(io_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), port));
        port_ = acceptor_->local_endpoint().port();
    }

    boost::asio::awaitable<void> accept(std::shared_ptr<tcp::acceptor> acceptor)
    {
        auto const self = shared_from_this();
        while (acceptor->is_open()) {
            auto [ec, client] = co_await acceptor->async_accept(as_values);
            if (ec) continue;
            play(io_, serve(remember(std::move(client))));
        }
    }

    socket_ptr remember(tcp::socket socket)
    {
        return sockets_.emplace_back(std::make_shared<tcp::socket>(std::move(socket)));
    }

    boost::asio::awaitable<void> serve(socket_ptr client)
    {
        auto const self = shared_from_this();
        std::string text;
        auto const buffer = boost::asio::dynamic_buffer(text);
        auto const [ec, head] = co_await boost::asio::async_read_until(*client, buffer, "\r\n\r\n", as_values);
        if (ec) co_return;
        heads.push_back(text.substr(0, head));
        bool const known = !credentials || text.find("proxy-authorization: " + *credentials + "\r\n") < head;
        std::string answer = "HTTP/1.1 200 Connection established\r\n\r\n";
        if (!known) answer = "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\r\n";
        if (!refusal.empty()) answer = "HTTP/1.1 " + refusal + "\r\ncontent-length: 4\r\n\r\nnope";
        bool const is_let_in = known && refusal.empty();
        bool const is_tunnel = text.starts_with("CONNECT ");
        if (is_tunnel || !is_let_in) {
            auto const [unsaid, n] =
                co_await boost::asio::async_write(*client, boost::asio::buffer(answer), as_values);
            if (unsaid || !is_let_in) co_return hang_up(*client);
            text.erase(0, head);
        } else { // "POST http://host/ HTTP/1.1"
            auto const target = text.find(' ') + 1;
            text.erase(target, text.find('/', target + 7) - target);
        }
        auto const server = remember(tcp::socket(io_));
        tcp::endpoint const where(boost::asio::ip::address_v4::loopback(), target_);
        auto const [refused] = co_await server->async_connect(where, as_values);
        if (refused) co_return hang_up(*client);
        auto const [lost, m] = co_await boost::asio::async_write(*server, boost::asio::buffer(text), as_values);
        if (lost) co_return hang_up(*client);
        play(io_, relay(client, server));
        play(io_, relay(server, client));
    }

    boost::asio::awaitable<void> relay(socket_ptr from, socket_ptr to)
    {
        std::array<char, 4096> some{};
        for (;;) {
            auto const [ec, size] = co_await from->async_read_some(boost::asio::buffer(some), as_values);
            if (ec) break;
            auto const [lost, n] =
                co_await boost::asio::async_write(*to, boost::asio::buffer(some.data(), size), as_values);
            if (lost) break;
        }
        hang_up(*from);
        hang_up(*to);
    }

    static void hang_up(tcp::socket& socket)
    {
        boost::system::error_code ignored;
        socket.close(ignored);
    }

    boost::asio::io_context& io_;
    std::uint16_t target_;
    std::uint16_t port_ = 0;
    std::shared_ptr<tcp::acceptor> acceptor_;
    std::list<socket_ptr> sockets_;
};

} // namespace quern::test
