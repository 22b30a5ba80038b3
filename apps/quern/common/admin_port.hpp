#pragma once

#include "common/standard_streams.hpp"

#include <quern/admin/door.hpp>
#include <quern/admin/reporter.hpp>
#include <quern/consumer/consumer.hpp>
#include <quern/telemetry/snapshot.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace quern::app {

class command;

/// Options of the command line about the admin port.
struct admin_options {
    std::optional<std::uint16_t> port; ///< absent: there is none
    std::string address = "127.0.0.1";
    std::vector<std::string> hosts;
};

/// Adds --admin-port and what goes with it. They outlive the reading of the command line.
void add_admin_options(command& to, admin_options&);

/// Options of the server behind that port, where one is named.
result<net::web_server_options> web_options_from(admin_options const&);

/// Has it listen at that port, and says where on standard error. `door`: admin::door, or broker::door.
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

/// A door to a program, with a thread of its own, and the reporter that looks at its consumers.
///
/// Threads  the executor's only one.
class admin_port {
public:
    /// Listens, and says where on standard error. Null when the options name no port. `numbers`: those of /metrics,
    /// called on the port's thread for as long as this lives; null: there is no such page.
    static result<std::unique_ptr<admin_port>> open(admin_options const&, std::string program,
        boost::asio::any_io_executor, std::function<telemetry::snapshot()> numbers = {});

    ~admin_port();
    admin_port(admin_port const&) = delete;
    admin_port& operator=(admin_port const&) = delete;

    /// The observer that the consumer of this queue is to have, before it is watched. `next` is told of all events
    /// too.
    std::shared_ptr<observer> observe(std::string const& url, std::shared_ptr<observer> next);

    /// Before begin().
    void watch(std::string const& url, consumer const&);

    void begin() { reporter_->begin(); }

    /// Completes when it has let go of the consumers. The door stays open until the object goes.
    boost::asio::awaitable<void> end() { return reporter_->end(); }

private:
    admin_port(admin::door_options, boost::asio::any_io_executor);

    std::shared_ptr<admin::board> board_;
    std::shared_ptr<admin::reporter> reporter_;
    std::map<std::string, std::shared_ptr<admin::recorder>> recorders_; ///< by URL

    boost::asio::io_context io_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_ = make_work_guard(io_);
    admin::door door_;
    std::thread thread_;
};

} // namespace quern::app
