#include "common/admin_port.hpp"

#include "common/command_line.hpp"

#include <quern/telemetry/prometheus.hpp>

#include <boost/asio/post.hpp>

#include <utility>

namespace quern::app {

namespace asio = boost::asio;

void add_admin_options(command& to, admin_options& o)
{
    to.add({
        {"--admin-port N", o.port,
            "Serve on this TCP port a page to watch it, and /livez, /readyz, /startupz, /explain, /events; 0: any "
            "free port, told on standard error; default: none"},
        {"--admin-address ADDRESS", o.address, "With --admin-port: listen on this IP address; default 127.0.0.1",
            needs("--admin-port")},
        {"--admin-host NAME", o.hosts,
            "With --admin-port: answer requests for this host name too, beside addresses and names of the loopback",
            needs("--admin-port")},
    });
}

result<net::web_server_options> web_options_from(admin_options const& said)
{
    net::web_server_options out;
    out.address = said.address;
    out.port = said.port.value_or(0);
    out.hosts = said.hosts;
    if (out.validate())
        return failure(errc::invalid_option, "--admin-address: '" + said.address + "' is no IP address");
    return out;
}

admin_port::admin_port(admin::door_options options, asio::any_io_executor ex)
    : board_(std::make_shared<admin::board>(real_clock().now())),
      reporter_(std::make_shared<admin::reporter>(std::move(ex), board_)),
      door_(io_.get_executor(), std::move(options), board_)
{}

result<std::unique_ptr<admin_port>> admin_port::open(admin_options const& said, std::string program,
    asio::any_io_executor ex, std::function<telemetry::snapshot()> numbers)
{
    std::unique_ptr<admin_port> out;
    if (!said.port) return out;
    auto web = web_options_from(said);
    if (!web) return web.error();
    admin::door_options options;
    options.web = std::move(*web);
    options.program = std::move(program);
    if (numbers) {
        options.metrics = [numbers] { return telemetry::prometheus_text(numbers()); };
        options.openmetrics = [numbers] { return telemetry::openmetrics_text(numbers()); };
    }
    out.reset(new admin_port(std::move(options), std::move(ex)));
    if (auto const listening = listen_at(out->door_); !listening) return listening.error();
    out->thread_ = std::thread([&io = out->io_] { io.run(); });
    return out;
}

admin_port::~admin_port()
{
    asio::post(io_, [this] { door_.close(); });
    work_.reset();
    if (thread_.joinable()) thread_.join();
}

std::shared_ptr<observer> admin_port::observe(std::string const& url, std::shared_ptr<observer> next)
{
    return recorders_[url] = std::make_shared<admin::recorder>(real_clock(), std::move(next));
}

void admin_port::watch(std::string const& url, consumer const& of)
{
    auto const name_of = [](std::string const& one) { return one.substr(one.rfind('/') + 1); };
    bool alone = true; // queues of two accounts may have one name
    for (auto const& [other, seen] : recorders_)
        alone = alone && (other == url || name_of(other) != name_of(url));
    reporter_->watch(alone ? name_of(url) : url, of, recorders_.at(url));
}

} // namespace quern::app
