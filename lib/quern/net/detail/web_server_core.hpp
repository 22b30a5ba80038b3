#pragma once

#include <quern/core/alarm.hpp>
#include <quern/net/detail/http_request.hpp>
#include <quern/net/detail/listener.hpp>
#include <quern/net/detail/request_parser.hpp>
#include <quern/net/web_server.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

namespace quern::net {

/// State that the connections of a server share. It outlives the server for as long as one of them is open.
class web_server::core : public std::enable_shared_from_this<core> {
public:
    core(boost::asio::any_io_executor, web_server_options, answerer, clock&);

    [[nodiscard]] result<void> listen();
    void tell(std::string_view piece);
    void close();

    void enter(connection&);
    void leave(connection&);

    /// Why a request is refused whatever its body is, as its header shows.
    std::optional<web_answer> refusal(http_request const&) const;
    /// The answer to a request that is whole, and was not refused.
    web_answer answer(http_request const&) const;

    /// Whether another answer may go on.
    bool may_follow() const { return counters.followers < options.max_followers; }

    std::size_t unsent = 0; ///< bytes of answers that are being written, of all connections
    void limit_unsent(connection const& latest);

    web_server_options const options;
    clock& time;
    std::string const token;
    web_server_counters counters;
    std::string url() const { return listener_.origin("http"); }
    std::uint16_t port() const { return listener_.port(); }

private:
    void take(boost::asio::ip::tcp::socket);
    bool look(tick now);
    void make_room();

    boost::asio::any_io_executor executor_;
    listener listener_;
    answerer serve_;
    bool const on_loopback_;
    std::unordered_set<connection*> open_;
};

/// One client: reads requests, has them answered one after the other.
class web_server::connection : public std::enable_shared_from_this<connection> {
public:
    connection(std::shared_ptr<core>, boost::asio::ip::tcp::socket);
    ~connection();

    /// Completes when the connection is closed, by either side.
    boost::asio::awaitable<void> run();

    void tell(std::string_view piece);
    void close();

    tick deadline() const { return deadline_; }
    tick since() const { return since_; }
    bool follows() const { return follows_; }
    std::size_t unsent() const { return unsent_; }

private:
    void set_unsent(std::size_t bytes);
    enum class found { request, nothing_yet, refused };
    found parse();
    void begin_answer(std::optional<web_answer> why_not);
    boost::asio::awaitable<bool> read();
    boost::asio::awaitable<bool> write();
    boost::asio::awaitable<void> follow();
    boost::asio::awaitable<void> hang_up();

    std::shared_ptr<core> core_;
    boost::asio::ip::tcp::socket socket_;
    boost::beast::flat_buffer in_;
    std::optional<request_parser> parser_;
    http_request request_;
    std::string out_;
    alarm news_;
    tick const since_;
    tick deadline_;
    std::size_t unsent_ = 0;
    bool in_request_ = true; ///< its end is waited for, and not just the next one's begin
    bool looked_at_ = false; ///< its header
    bool keep_alive_ = true;
    bool follows_ = false;
    bool writing_ = false;
    bool closed_ = false;
};

} // namespace quern::net
