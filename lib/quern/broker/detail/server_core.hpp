#pragma once

#include <quern/broker/detail/body_budget.hpp>
#include <quern/broker/detail/front_end.hpp>
#include <quern/broker/detail/ids.hpp>
#include <quern/broker/server.hpp>
#include <quern/core/alarm.hpp>
#include <quern/net/detail/listener.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace quern::broker {

class connection;

/// State that the connections of a server share. It outlives the server for as long as one of them is open.
class server_core : public std::enable_shared_from_this<server_core> {
public:
    server_core(boost::asio::any_io_executor, server_options, engine_options, clock&);

    [[nodiscard]] result<void> listen();
    boost::asio::awaitable<void> stop(std::chrono::milliseconds limit);
    void shut();

    /// Follows the steady clock, and the calendar where that has gone ahead: while the machine sleeps the steady
    /// clock stands still. Never goes back.
    instant now();
    /// Hands polls that have ended to their connections, and sees that time goes on when it has to.
    void settle();

    /// A change that an answer may speak of has not been kept yet.
    bool unsaved() const { return broker.queues().unsaved(); }
    /// Calls connection::saved() when it has been.
    void owe(connection& c) { owed_.insert(&c); }

    void enter(connection&);
    /// Somebody holds less of the budget for bodies.
    void make_way();
    /// Makes room for one that has waited for long: cuts the others, the oldest first.
    void limit_bodies(body_budget::share const&);
    /// Keeps to the budget for answers that are not taken: cuts the others that hold most.
    void limit_unsent(connection const& latest);
    void leave(connection&);
    void park(poll_id, connection&);
    /// The connection of the poll is gone; forgets the poll as well when it is not to be carried on.
    void abandon(poll_id, bool cancel);

    std::string_view date(); ///< for the Date header
    bool stopping() const { return stopping_; }
    server_counters all_counters() const;
    std::string metrics();
    boost::asio::any_io_executor get_executor() const { return executor_; }

    server_options const options;
    clock& time;
    front_end broker;
    id_source request_ids;
    body_budget bodies;
    std::size_t unsent_bytes = 0; ///< of answers that are not taken, of all clients that have proved nothing
    server_counters counters;     ///< without those that are known elsewhere
    std::string origin;           ///< "http://127.0.0.1:9324"
    std::uint16_t port() const { return listener_.port(); }
    std::shared_ptr<boost::asio::ssl::context> const tls; ///< null: http
    std::size_t open() const { return open_.size(); }
    std::size_t parked() const { return parked_.size(); }

private:
    boost::asio::awaitable<void> keep_time();
    void take(boost::asio::ip::tcp::socket);
    bool look(tick now);
    bool make_room();
    void save();
    void cut(connection&);

    boost::asio::any_io_executor executor_;
    net::listener listener_;
    alarm clockwork_; ///< rung when time has to look again
    alarm emptied_;   ///< rung when the last connection has left
    tick const began_;
    wall_time began_at_; ///< later by what the steady clock has missed
    std::optional<instant> wakes_at_;
    std::unordered_set<connection*> open_;
    std::unordered_map<poll_id, connection*> parked_;
    std::unordered_set<connection*> owed_; ///< wait for the journal
    bool saving_ = false;                  ///< at the end of this turn
    std::chrono::sys_seconds date_at_{};
    std::string date_;
    bool stopping_ = false;
    bool shut_ = false;
};

} // namespace quern::broker
