#pragma once

#include "server_clock.hpp"
#include "support/server_thread.hpp"

#include <quern/aws/detail/signing/sigv4.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/socket.h>

#include <future>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace quern::test {

/// What a client got back.
struct reply {
    int status = 0;
    std::map<std::string, std::string> fields; ///< names in lower case
    std::string body;

    std::string type() const { return std::string(boost::json::parse(body).at("__type").as_string()); }
    std::string message() const { return std::string(boost::json::parse(body).at("message").as_string()); }
    boost::json::object json() const { return boost::json::parse(body).as_object(); }
};

/// A request as text: POST / with the headers of an awsJson1_0 call.
inline std::string request_text(std::string_view operation, std::string_view body, std::string_view more_headers = {})
{
    std::string out = "POST / HTTP/1.1\r\nHost: broker.test:9324\r\nContent-Type: application/x-amz-json-1.0\r\n";
    out.append("X-Amz-Target: AmazonSQS.").append(operation).append("\r\n").append(more_headers);
    out.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n").append(body);
    return out;
}

/// The Authorization, X-Amz-Date and other headers that sign such a request.
inline std::string signature_headers(std::string_view operation, std::string_view body, aws::credentials const& who,
    wall_time at, std::string_view region = "us-east-1")
{
    auto const target = "AmazonSQS." + std::string(operation);
    aws::request_view view;
    view.method = "POST";
    view.target = "/";
    view.headers = {
        {"Host", "broker.test:9324"}, {"Content-Type", "application/x-amz-json-1.0"}, {"X-Amz-Target", target}};
    view.body = body;
    aws::signing_keys keys;
    aws::signing_scope const scope{text::timestamp(at), region, "sqs"};
    std::string out;
    for (auto const& [name, value] : aws::sign(view, who, scope, {}, keys).added)
        out += name + ": " + value + "\r\n";
    return out;
}

/// A blocking socket that gives up after some seconds, so that a silent server fails a test instead of hanging it.
class raw_client {
public:
    explicit raw_client(std::uint16_t port) : socket_(io_)
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
            out.fields[aws::lower_case(line.substr(0, colon))] = line.substr(colon + 2);
        }
        std::size_t const length = out.status == 100 ? 0 : std::stoul(out.fields.at("content-length"));
        while (unread_.size() < length)
            BOOST_REQUIRE_MESSAGE(more(), "the body breaks off: " + unread_);
        out.body = unread_.substr(0, length);
        unread_.erase(0, length);
        return out;
    }

    reply call(std::string_view operation, std::string_view body, std::string_view more_headers = {})
    {
        send(request_text(operation, body, more_headers));
        return receive();
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
    /// So that the next close resets the connection.
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

/// A server with time that stands still.
class running_server {
public:
    explicit running_server(broker::server_options options = unsigned_options(), broker::engine_options queues = {})
        : on_(under_test_names(std::move(options)), std::move(queues), clock_)
    {}

    static broker::server_options unsigned_options() { return server_thread::unsigned_options(); }

    /// The hosts that the texts of the tests name.
    static broker::server_options under_test_names(broker::server_options options)
    {
        options.hosts.insert(options.hosts.end(), {"broker.test", "h"});
        return options;
    }

    raw_client connect() const { return raw_client(port()); }
    std::uint16_t port() const { return on_.server.port(); }

    /// Runs on the server's thread.
    template <class F>
    auto on_server(F f)
    {
        return on_.run(std::move(f));
    }

    broker::server_counters counters()
    {
        return on_server([this] { return server().counters(); });
    }
    void set_faults(broker::fault_settings faults)
    {
        on_server([this, &faults] { server().queues().set_faults(std::move(faults)); });
    }
    void advance(tick::duration by)
    {
        on_server([this, by] { clock_.advance(by); });
    }
    wall_time wall() const { return clock_.wall(); }

    /// Turns the event loop until that many long polls are parked.
    void wait_for_polls(std::size_t number)
    {
        while (counters().parked_polls != number)
            std::this_thread::yield();
    }
    void wait_for_connections(std::size_t number)
    {
        while (counters().open_connections != number)
            std::this_thread::yield();
    }

    std::future<void> begin_stop(std::chrono::milliseconds limit) { return on_.stop(limit); }
    void stop(std::chrono::milliseconds limit) { begin_stop(limit).get(); }

    broker::server& server() { return on_.server; }

private:
    standing_clock clock_;
    server_thread on_;
};

} // namespace quern::test
