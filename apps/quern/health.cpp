#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/complaint.hpp"
#include "common/session.hpp"
#include "common/standard_streams.hpp"

#include <quern/net/web_hook_client.hpp>

#include <boost/asio/io_context.hpp>

#include <fmt/core.h>

#include <chrono>
#include <memory>

namespace quern::app {
namespace {

namespace asio = boost::asio;

struct health_options {
    std::string url;
    std::chrono::milliseconds timeout{5'000};
};

asio::awaitable<int> ask(asio::any_io_executor ex, net::endpoint at, std::chrono::milliseconds patience)
{
    net::web_hook_client web(ex);
    net::web_hook_request request(at);
    request.method = "GET";
    request.timeout = patience;
    auto const said = co_await web.send(std::move(request));
    auto const where = at.origin() + at.path + ": ";
    if (!said) co_return complain(where + describe(said.error().why));
    std::string_view line = said->body;
    line = line.substr(0, line.find('\n'));
    if (said->status < 200 || said->status > 299)
        co_return complain(fmt::format("{}status {}: {}", where, said->status, line));
    say(stdout, "{}\n", line);
    co_return ok;
}

int run_health(health_options const& o)
{
    auto at = net::parse_endpoint(o.url);
    if (!at) return complain(at.error());
    if (at->path.empty() || at->path == "/") at->path = "/livez";
    asio::io_context io(1);
    return run(io, ask(io.get_executor(), *at, o.timeout));
}

} // namespace

void add_health(command& app, command_line& line)
{
    auto const o = std::make_shared<health_options>();
    auto* const command = app.add_subcommand("health", "Ask a program with --admin-port whether it is well");
    command->add({
        {"URL", o->url, "URL of its admin port: http://127.0.0.1:9090", required()},
        {"--timeout DURATION", o->timeout, "Wait so long for an answer",
            duration_within(std::chrono::milliseconds(1), std::chrono::minutes(5)), shows_default()},
    });
    command->footer(
        R"(For a container's HEALTHCHECK, which then needs no curl. Asks /livez, which says whether the program should be
started anew; http://127.0.0.1:9090/readyz says whether it gets messages at this moment. Any other URL that
answers with a status of 2xx is well too.

Exit status: 0 it is well; 1 it is not, or doesn't answer; 2 the command line is wrong.)");
    when_named(*command, line, [o] { return run_health(*o); });
}

} // namespace quern::app
