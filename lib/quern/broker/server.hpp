#pragma once

#include <quern/broker/engine.hpp>
#include <quern/broker/server_options.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace quern::broker {

namespace detail {
class server_core;
}

/// Counts since the start.
struct server_counters {
    std::uint64_t connections = 0;      ///< accepted
    std::uint64_t open_connections = 0; ///< now
    std::uint64_t cut_connections = 0;  ///< too slow, or in the way of others before they had proved themselves
    std::uint64_t parked_polls = 0;     ///< now: long polls that wait for a message
    std::uint64_t errors = 0;           ///< answers with a status of 400 or more
    std::uint64_t faults = 0;           ///< requests that a fault of the plan hit, latency alone not counted
    std::uint64_t request_bytes = 0;    ///< of bodies
    std::uint64_t answer_bytes = 0;     ///< of bodies
    std::map<std::string_view, std::uint64_t> requests; ///< by operation, "ReceiveMessage"; those refused included
};

/// Serves SQS over HTTP/1.1: awsJson1_0, the protocol of current SDKs, and the query protocol with XML of those
/// before.
///
/// Routes    by X-Amz-Target, whatever the path, or by Action in a form or a query. GET /health answers
///           200 without a signature.
/// Urls      a QueueUrl in an answer starts with the origin of the request's Host header, so it works wherever the
///           broker is reached from; of a QueueUrl in a request the account and the name count.
/// Lifetime  connections end soon after the object does, without answering what is under way: stop() first. The clock
///           outlives them.
/// Threads   none of its own; all calls on the executor, which runs one handler at a time (a strand, or an io_context
///           with one thread).
class server {
public:
    /// Throws boost::system::system_error when an option is invalid.
    explicit server(boost::asio::any_io_executor, server_options = {}, engine_options = {}, clock& = real_clock());
    ~server();
    server(server const&) = delete;
    server& operator=(server const&) = delete;

    /// Binds and starts to accept. Fails when the address is taken or none of this machine's.
    [[nodiscard]] result<void> listen();

    std::uint16_t port() const; ///< 0 before listen()
    std::string url() const;    ///< "http://127.0.0.1:9324"

    /// Stops accepting, answers long polls as empty at once, lets other requests under way finish, closes idle
    /// connections. Completes when all connections are closed: what is left at the limit is cut.
    boost::asio::awaitable<void> stop(std::chrono::milliseconds limit = std::chrono::seconds(5));

    /// The queues behind, for tests and for switching faults. Call settle() after anything that may end a long poll.
    engine& queues();
    instant now() const; ///< the time to call the engine with
    void settle();

    server_counters counters() const;
    /// Depths, requests, connections and bytes in Prometheus' text format, 0.0.4. Call settle() afterwards.
    std::string metrics();
    bool stopping() const; ///< or has stopped; also after the journal failed
    boost::asio::any_io_executor get_executor() const;

private:
    std::shared_ptr<detail::server_core> core_;
};

} // namespace quern::broker
