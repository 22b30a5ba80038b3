#pragma once

#include "common/standard_streams.hpp"

#include <quern/admin/host.hpp>
#include <quern/telemetry/snapshot.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern::app {

class command;

/// Options of the command line about the admin port.
struct admin_options {
    std::optional<std::uint16_t> port; ///< absent: there is none
    std::string address = "127.0.0.1";
    std::vector<std::string> hosts;
    bool may_act = false; ///< its page may have messages tried at once
};

/// Adds --admin-port and what goes with it; --admin where its page may act. They outlive the reading of the command
/// line.
void add_admin_options(command& to, admin_options&, bool with_actions = false);

/// Options of the server behind that port, where one is named.
result<net::web_server_options> web_options_from(admin_options const&);

/// Has it listen at that port, and says where on standard error. `door`: admin::host, or broker::door.
template <class Door>
result<void> listen_at(Door& door)
{
    auto const listening = door.listen();
    if (!listening) {
        return failure(errc::connect_failed,
            "--admin-port: " + listening.error().message + "; choose another, 0 for any that is free");
    }
    say(stderr, "quern: watch it at {}/\n", door.url());
    return {};
}

/// Listens, and says where on standard error. Null when the options name no port. `numbers`: those of /metrics,
/// called on the port's thread for as long as it lives; null: it counts itself. `wanted`: that of /wanted, likewise.
result<std::unique_ptr<admin::host>> open_admin_port(admin_options const&, std::string program,
    boost::asio::any_io_executor, std::function<telemetry::snapshot()> numbers = {},
    std::function<admin::wanted_processes()> wanted = {});

} // namespace quern::app
