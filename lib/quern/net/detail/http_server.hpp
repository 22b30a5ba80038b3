#pragma once

#include <quern/core/alarm.hpp>
#include <quern/net/detail/body_budget.hpp>
#include <quern/net/detail/http_session.hpp>
#include <quern/net/detail/listener.hpp>

#include <boost/asio/ssl/context.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

namespace quern::net::detail {

/// Limits of a server: what its clients may cost.
struct http_limits {
    std::size_t max_header_bytes;
    std::size_t max_body_bytes;
    std::size_t max_connections;

    // For all together that have proved nothing.
    std::size_t max_held_bytes;   ///< of bodies that are coming
    std::size_t max_unsent_bytes; ///< of answers that are not taken

    std::chrono::milliseconds handshake_timeout;
    std::chrono::milliseconds header_timeout; ///< from a request's first byte to the end of its header
    std::chrono::milliseconds body_timeout;   ///< from there to its last byte; 0: the header's time is for both
    std::chrono::milliseconds write_timeout;  ///< for a client to take an answer
    std::chrono::milliseconds idle_timeout;   ///< between requests
    bool first_at_once;                       ///< the first header's time counts from the connection on
};

/// Counts since the start.
struct http_counters {
    std::uint64_t connections = 0; ///< accepted
    std::uint64_t cut = 0;         ///< too slow, too many, or too much that they did not take
    std::size_t followers = 0;     ///< now
};

/// Server of HTTP/1.1: everything that does not depend on what is served. It outlives its owner for as long as one of
/// its connections is open.
///
/// Threads  one at a time, on the executor.
class http_server : public std::enable_shared_from_this<http_server> {
public:
    /// `tls`: null for http.
    http_server(
        boost::asio::any_io_executor, http_limits const&, std::shared_ptr<boost::asio::ssl::context> tls, clock&);
    http_server(http_server const&) = delete;
    http_server& operator=(http_server const&) = delete;
    virtual ~http_server() = default;

    [[nodiscard]] result<void> listen(std::string const& address, std::uint16_t port);
    std::uint16_t port() const { return listener_.port(); }
    std::string origin() const; ///< "http://127.0.0.1:9324"

    /// Adds a piece to every answer that goes on. Whoever has not taken the one before gets none of this one, and is
    /// closed once write_timeout is over.
    void tell(std::string_view piece);

    bool stopping() const { return stopping_; }
    std::size_t open() const { return open_.size(); }
    http_counters const& counters() const { return counters_; }
    boost::asio::any_io_executor get_executor() const { return executor_; }

    // for connections

    /// Begins the talk with a client. The connection outlives it.
    virtual std::unique_ptr<http_session> greet(http_connection&) = 0;

    /// A change that an answer may speak of has not been kept yet: no byte of it leaves before release().
    virtual bool holds_back() const { return false; }
    void owe(http_connection& c) { owed_.insert(&c); }

    void enter(http_connection&);
    void leave(http_connection&);
    void count_follower(int change) { counters_.followers += static_cast<std::size_t>(change); }
    /// Somebody holds less of the budget for bodies.
    void make_way();
    /// Makes room for one that has waited for long: cuts the others, the oldest first.
    void limit_bodies(body_budget::share const&);
    /// Keeps to the budget for answers that are not taken: cuts the others that hold most.
    void limit_unsent(http_connection const& latest);
    std::string_view date(); ///< for the Date header

    http_limits const limits;
    clock& time;
    std::shared_ptr<boost::asio::ssl::context> const tls;
    body_budget bodies;
    std::size_t unsent_bytes = 0; ///< of answers that are not taken, of all clients that have proved nothing

protected:
    /// Takes no new connections; those that are open get no further request answered.
    void begin_to_stop();
    /// Completes when all connections are closed, the idle ones at once: what is left at the limit is cut.
    boost::asio::awaitable<void> drain(std::chrono::milliseconds limit);
    /// Closes everything.
    void shut();
    bool is_shut() const { return shut_; }

    /// Lets the answers go that were held back.
    void release();

    /// Called now and then while there are connections.
    virtual void look_around() {}

private:
    void take(boost::asio::ip::tcp::socket);
    bool look(tick now);
    bool make_room();
    void cut(http_connection&);

    boost::asio::any_io_executor executor_;
    listener listener_;
    alarm emptied_; ///< rung when the last connection has left
    http_counters counters_;
    std::unordered_set<http_connection*> open_;
    std::unordered_set<http_connection*> owed_;
    std::chrono::sys_seconds date_at_{};
    std::string date_;
    bool stopping_ = false;
    bool shut_ = false;
};

} // namespace quern::net::detail
