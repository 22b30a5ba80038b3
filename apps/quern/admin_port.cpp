#include "admin_port.hpp"

#include "standard_streams.hpp"

#include <boost/asio/post.hpp>

#include <CLI/CLI.hpp>

#include <utility>

namespace quern::app {

namespace asio = boost::asio;

void add_admin_options(CLI::App& command, admin_options& o)
{
    auto* const port = command
                           .add_option("--admin-port", o.port,
                               "Show on this TCP port how it does: a page, /livez, /readyz, /startupz, /explain, "
                               "/events; 0 for any that is free, see standard error")
                           ->type_name("N");
    command.add_option("--admin-address", o.address, "With --admin-port: the IP address to listen on [127.0.0.1]")
        ->type_name("ADDRESS")
        ->needs(port);
    command
        .add_option("--admin-host", o.hosts,
            "With --admin-port: a name to be reached by, beside addresses and those of the loopback")
        ->type_name("NAME")
        ->needs(port);
}

admin_port::admin_port(admin::door_options options, asio::any_io_executor ex)
    : board_(std::make_shared<admin::board>(real_clock().now())),
      reporter_(std::make_shared<admin::reporter>(std::move(ex), board_)),
      door_(io_.get_executor(), std::move(options), board_)
{}

result<std::unique_ptr<admin_port>> admin_port::open(
    admin_options const& said, std::string program, asio::any_io_executor ex, std::function<std::string()> metrics)
{
    std::unique_ptr<admin_port> out;
    if (!said.port) return out;
    admin::door_options options;
    options.web.address = said.address;
    options.web.port = *said.port;
    options.web.hosts = said.hosts;
    options.program = std::move(program);
    options.metrics = std::move(metrics);
    if (auto wrong = options.web.validate())
        return failure(errc::invalid_option, "--admin-address: '" + said.address + "' is no IP address");
    out.reset(new admin_port(std::move(options), std::move(ex)));
    if (auto const listening = out->door_.listen(); !listening) {
        auto why = listening.error();
        why.message = "--admin-port: " + why.message + "; choose another, 0 for any that is free";
        return why;
    }
    out->thread_ = std::thread([&io = out->io_] { io.run(); });
    say(stderr, "quern: watch it at {}/\n", out->door_.url());
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
