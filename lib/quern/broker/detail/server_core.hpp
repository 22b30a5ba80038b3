#pragma once

#include <quern/broker/detail/front_end.hpp>
#include <quern/broker/detail/ids.hpp>
#include <quern/broker/server.hpp>
#include <quern/core/alarm.hpp>
#include <quern/net/detail/http_server.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace quern::broker::detail {

class session;

/// Broker behind an HTTP server: its time, its long polls, its journal.
class server_core final : public net::detail::http_server {
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

    void park(poll_id, session&);
    /// The connection of the poll is gone; forgets the poll as well when it is not to be carried on.
    void abandon(poll_id, bool cancel);

    server_counters all_counters() const;
    std::string metrics();

    std::unique_ptr<net::detail::http_session> greet(net::detail::http_connection&) override;
    bool holds_back() const override { return broker.queues().unsaved(); }

    server_options const options;
    front_end broker;
    id_source request_ids;
    server_counters tallied; ///< without those that are known elsewhere
    std::string base;        ///< "http://127.0.0.1:9324"

private:
    /// After a sleep somebody has to look at the calendar first.
    void look_around() override { now(); }
    boost::asio::awaitable<void> keep_time();
    void save();

    alarm clockwork_; ///< rung when time has to look again
    tick const began_;
    wall_time began_at_; ///< later by what the steady clock has missed
    std::optional<instant> wakes_at_;
    std::unordered_map<poll_id, session*> parked_;
    bool saving_ = false; ///< at the end of this turn
};

} // namespace quern::broker::detail
