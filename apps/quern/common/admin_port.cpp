#include "common/admin_port.hpp"

#include "common/command_line.hpp"
#include "common/complaint.hpp"

#include <utility>

namespace quern::app {

namespace asio = boost::asio;

void add_admin_options(command& to, admin_options& o, bool with_actions)
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
    if (!with_actions) return;
    to.add({"--admin", o.may_act,
        "With --admin-port: let its page have what waits in an outage tried at once, as SIGUSR2 does",
        needs("--admin-port")});
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

result<std::unique_ptr<admin::host>> open_admin_port(admin_options const& said, std::string program,
    asio::any_io_executor ex, std::function<telemetry::snapshot()> numbers,
    std::function<admin::wanted_processes()> wanted)
{
    std::unique_ptr<admin::host> out;
    if (!said.port) return out;
    auto web = web_options_from(said);
    if (!web) return web.error();
    admin::host_options options;
    options.web = std::move(*web);
    options.program = std::move(program);
    options.version = QUERN_VERSION;
    options.may_act = said.may_act;
    options.numbers = std::move(numbers);
    options.wanted = std::move(wanted);
    options.log = log_line;
    out = std::make_unique<admin::host>(std::move(ex), std::move(options));
    if (auto const listening = listen_at(*out); !listening) return listening.error();
    return out;
}

} // namespace quern::app
