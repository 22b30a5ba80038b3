#pragma once

#include <quern/admin/picture.hpp>
#include <quern/net/web_server.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace quern::admin {

struct door_options {
    net::web_server_options web;
    health_limits health;
    std::string program; ///< "quern consume", for the page

    /// Text for /metrics in Prometheus' format; null: there is no such page. Called on the door's executor.
    std::function<std::string()> metrics;

    /// The same in OpenMetrics, for scrapers that would rather have that; null: they get the other.
    std::function<std::string()> openmetrics;
};

/// Server that shows over HTTP what a program does, and changes nothing:
///
///     /livez /readyz /startupz   200 or 503, with the reason; ?verbose tells of each queue
///     /metrics                   for Prometheus, where there are metrics
///     /explain                   the picture as JSON
///     /events                    the same once a second, as server-sent events
///     /                          a page that shows them
///
/// Give it an executor with a thread of its own: then it answers even while something blocks the program's, which is
/// what /livez is for, and costs that nothing.
///
/// Lifetime  of the board: shared.
/// Threads   one at a time, on the executor.
class door {
public:
    /// Throws boost::system::system_error when an option is invalid.
    door(boost::asio::any_io_executor, door_options, std::shared_ptr<board const>, clock& = real_clock());
    ~door();
    door(door const&) = delete;
    door& operator=(door const&) = delete;

    [[nodiscard]] result<void> listen();
    std::uint16_t port() const; ///< 0 before listen()
    std::string url() const;    ///< "http://127.0.0.1:9090"

    /// Closes all connections, and accepts no more.
    void close();

private:
    class state;
    std::unique_ptr<state> state_;
};

/// The page, and the policy that lets a browser run what stands in it and nothing else.
std::string_view page();
std::string page_policy();

} // namespace quern::admin
