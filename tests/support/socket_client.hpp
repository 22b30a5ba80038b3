#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::test {

/// An answer as the client got it.
struct reply {
    int status = 0;
    std::map<std::string, std::string> fields; ///< names in lower case
    std::string body;

    std::string type() const { return std::string(boost::json::parse(body).at("__type").as_string()); }
    std::string message() const { return std::string(boost::json::parse(body).at("message").as_string()); }
    boost::json::object json() const { return boost::json::parse(body).as_object(); }
};

inline std::string in_lower_case(std::string text)
{
    std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    return text;
}

/// A blocking socket that gives up after some seconds, so that a silent server fails a test instead of hanging it.
class socket_client {
public:
    explicit socket_client(std::uint16_t port) : socket_(io_)
    {
        socket_.connect({boost::asio::ip::address_v4::loopback(), port});
        socket_.set_option(boost::asio::ip::tcp::no_delay(true));
        timeval const patience{10, 0};
        ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }

    void send(std::string_view text)
    {
        while (!text.empty()) {
            auto const n = ::send(socket_.native_handle(), text.data(), text.size(), MSG_NOSIGNAL);
            BOOST_REQUIRE_MESSAGE(n > 0, "the server no longer takes what is sent");
            text.remove_prefix(static_cast<std::size_t>(n));
        }
    }

    /// As far as the server lets it.
    void send_some(std::string_view text)
    {
        while (!text.empty()) {
            auto const n = ::send(socket_.native_handle(), text.data(), text.size(), MSG_NOSIGNAL);
            if (n <= 0) return;
            text.remove_prefix(static_cast<std::size_t>(n));
        }
    }

    reply receive()
    {
        while (unread_.find("\r\n\r\n") == unread_.npos)
            BOOST_REQUIRE_MESSAGE(more(), "no answer, but: " + unread_);
        reply out;
        auto const end = unread_.find("\r\n\r\n");
        auto const head = unread_.substr(0, end);
        unread_.erase(0, end + 4);
        BOOST_REQUIRE_MESSAGE(head.starts_with("HTTP/1.1 "), head);
        out.status = std::stoi(head.substr(9, 3));
        for (auto at = head.find("\r\n"); at != head.npos; at = head.find("\r\n", at + 2)) {
            auto const line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
            auto const colon = line.find(": ");
            out.fields[in_lower_case(line.substr(0, colon))] = line.substr(colon + 2);
        }
        std::size_t const length = out.status == 100 ? 0 : std::stoul(out.fields.at("content-length"));
        while (unread_.size() < length)
            BOOST_REQUIRE_MESSAGE(more(), "the body breaks off: " + unread_);
        out.body = unread_.substr(0, length);
        unread_.erase(0, length);
        return out;
    }

    /// Returns what comes, up to and with this text.
    std::string wait_for(std::string_view text)
    {
        while (unread_.find(text) == unread_.npos)
            BOOST_REQUIRE_MESSAGE(more(), "it ended without " + std::string(text));
        auto const end = unread_.find(text) + text.size();
        auto out = unread_.substr(0, end);
        unread_.erase(0, end);
        return out;
    }

    /// Everything until the server closes.
    std::string rest()
    {
        while (more()) {
        }
        return std::exchange(unread_, {});
    }

    /// The server has closed, and has sent nothing more before.
    bool is_closed() { return !more() && !timed_out_ && unread_.empty(); }

    void close() { socket_.close(); }
    void close_for_writing() { socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send); }
    /// Makes the next close reset the connection.
    void linger_off() { socket_.set_option(boost::asio::socket_base::linger(true, 0)); }

private:
    bool more()
    {
        auto const n = ::recv(socket_.native_handle(), bytes_.data(), bytes_.size(), 0);
        timed_out_ = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
        if (n <= 0) return false;
        unread_.append(bytes_.data(), static_cast<std::size_t>(n));
        return true;
    }

    boost::asio::io_context io_;
    boost::asio::ip::tcp::socket socket_;
    std::vector<char> bytes_ = std::vector<char>(64 * 1024);
    std::string unread_;
    bool timed_out_ = false;
};

} // namespace quern::test
