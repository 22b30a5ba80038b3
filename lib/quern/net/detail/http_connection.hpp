#pragma once

#include <quern/net/detail/http_server.hpp>
#include <quern/net/detail/http_wire.hpp>
#include <quern/net/detail/message_parser.hpp>

#include <boost/beast/core/flat_buffer.hpp>

#include <memory>
#include <optional>
#include <string>

namespace quern::net::detail {

/// How a connection stands, for the server to see.
struct http_standing {
    tick since{};
    tick deadline = tick::max(); ///< when its client will have taken too long over what it is at
    bool proven = false;
    bool follows = false;   ///< its answer goes on
    std::size_t unsent = 0; ///< bytes of answers that are not taken, while nothing is proved
    bool closed = false;
};

/// One client: reads requests, has them answered one after the other, writes the answers.
///
/// A request that arrives whole costs one read and one write. Of several in one read (pipelining) the answers leave
/// together, unless one of them has to wait.
class http_connection : public std::enable_shared_from_this<http_connection> {
public:
    http_connection(std::shared_ptr<http_server>, boost::asio::ip::tcp::socket);
    ~http_connection();

    /// Completes when the connection is closed, by either side.
    boost::asio::awaitable<void> run();

    // for its session

    /// The answer that was still to come is there.
    void ready();
    std::string peer() const { return wire_.peer(); } ///< "127.0.0.1:40312"

    // for its server

    http_standing const& standing() const { return is_; }

    /// The answers may go that were held back.
    void released();
    /// Adds to an answer that goes on.
    void tell(std::string_view piece);
    /// Makes it look again at what it waits for.
    void wake();
    /// No more requests: closes at once when none is under way, after its answer otherwise.
    void finish();
    void close();

private:
    enum class parsed { request, incomplete, refused };
    enum class waiting_for { nothing, request, header, body };

    void wait_for(waiting_for);
    void hold(std::size_t bytes);
    void set_unsent(std::size_t bytes);

    parsed parse();
    bool look_at_header();
    void refuse(boost::system::error_code);
    void begin();
    void append_answer();
    boost::asio::awaitable<bool> finish_slowly();

    boost::asio::awaitable<bool> news(std::optional<tick> until = {});
    boost::asio::awaitable<void> kept();
    boost::asio::awaitable<void> room();
    boost::asio::awaitable<void> pause(std::chrono::milliseconds);
    boost::asio::awaitable<void> follow();
    boost::asio::awaitable<void> trickle(int bytes_per_second);
    boost::asio::awaitable<void> swallow();
    void watch_for_disconnect();

    boost::asio::awaitable<bool> write();
    boost::asio::awaitable<bool> read();

    std::shared_ptr<http_server> core_;
    http_wire wire_;
    std::unique_ptr<http_session> session_;

    boost::beast::flat_buffer in_;
    std::optional<request_parser> parser_;
    bool header_seen_ = false; ///< before its body: who asks, and whether to continue (Expect: 100-continue)
    bool in_request_ = false;  ///< from the first byte of a request until its answer is written or waits to be
    bool hurries_;             ///< the header's time counts already

    http_request request_;
    http_turn turn_;
    std::uint64_t turns_ = 0;

    std::optional<alarm> news_;
    bool owed_ = false; ///< the answers that are to be written are held back
    waiting_for waiting_for_ = waiting_for::nothing;
    http_standing is_;
    body_budget::share held_{this}; ///< for a body, while nothing is proved
};

} // namespace quern::net::detail
