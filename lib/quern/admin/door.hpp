#pragma once

#include <quern/admin/picture.hpp>
#include <quern/net/live_door.hpp>
#include <quern/net/web_server.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace quern::admin {

struct door_options {
    net::web_server_options web{};
    health_limits health{};
    std::string program{}; ///< "quern consume", for the page

    /// Number of processes like this one that are wanted, for /wanted and the picture. Null: nobody tells. Called on
    /// the door's executor.
    std::function<wanted_processes()> wanted{};

    /// Has what waits in an outage tried at once, for the button of the page: consumer::probe_now(). Null: nothing
    /// can be changed. Called on the door's executor, for who has the token of GET /token in X-Quern-Token.
    std::function<void()> probe{};

    /// Text for /metrics in Prometheus' format; null: there is no such page. Called on the door's executor.
    std::function<std::string()> metrics{};

    /// The same in OpenMetrics, for scrapers that would rather have that; null: they get the other.
    std::function<std::string()> openmetrics{};
};

/// Server that shows over HTTP what a program does, and changes nothing but by POST /probe, where options say so.
/// With `?verbose` a probe tells of each queue.
///
/// Give it an executor with a thread of its own: then it answers even while something blocks the program's, which is
/// what /livez is for, and costs that nothing.
///
/// Lifetime  of the board: shared.
class door : public net::live_door {
public:
    /// Throws boost::system::system_error when an option is invalid.
    door(boost::asio::any_io_executor, door_options, std::shared_ptr<board const>, clock& = real_clock());
};

/// The page, and the policy that lets a browser run what stands in it and nothing else.
std::string_view page();
std::string page_policy();

} // namespace quern::admin
