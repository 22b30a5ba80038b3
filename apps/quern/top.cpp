#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/complaint.hpp"
#include "common/session.hpp"
#include "common/standard_streams.hpp"
#include "top_text.hpp"

#include <quern/core/clock.hpp>
#include <quern/net/web_hook_client.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>

#include <fmt/core.h>

#include <memory>
#include <unistd.h>

namespace quern::app {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using namespace std::chrono_literals;

struct top_options {
    std::string url;
    bool once = false;
};

/// The picture in an answer; why there is none, else.
result<json::object> picture_in(net::web_hook_result const& said)
{
    if (!said) return said.error().why;
    if (said->status != 200) {
        auto const status = "status " + std::to_string(said->status);
        return failure(errc::bad_reply, status + ": is that the address that --admin-port told?");
    }
    boost::system::error_code ec;
    auto const read = json::parse(said->body, ec);
    if (ec || !read.is_object()) return failure(errc::bad_reply, "what came is no picture of a program");
    return read.as_object();
}

asio::awaitable<int> show(asio::any_io_executor ex, net::endpoint at, bool once)
{
    net::web_hook_client web(ex);
    auto const pulse = real_clock().make_timer(ex);
    bool const terminal = ::isatty(STDOUT_FILENO) == 1;
    json::object before;
    for (bool first = true;; first = false) {
        auto const next = real_clock().now() + 1s;
        net::web_hook_request request(at);
        request.method = "GET";
        request.timeout = 5s;
        auto const said = co_await web.send(std::move(request));
        auto now = picture_in(said);
        if (!now && (first || once)) co_return complain(at.origin() + ": " + describe(now.error()));
        std::string text;
        if (now) {
            try {
                text = top_text(before, *now);
            } catch (std::exception const&) {
                co_return complain(at.origin() + ": what came is no picture of a program");
            }
            before = std::move(*now);
        } else {
            text = "it does not answer: " + describe(now.error()) + '\n';
        }
        app::say(stdout, "{}{}", terminal && !once ? "\x1b[H\x1b[2J" : "", text);
        std::fflush(stdout);
        if (once) co_return ok;
        co_await pulse->wait_until(next);
    }
}

int run_top(top_options const& o)
{
    auto at = net::parse_endpoint(o.url);
    if (!at) return complain(at.error());
    if (!at->path.ends_with('/')) at->path += '/';
    at->path += "explain";
    asio::io_context io(1);
    return run(io, show(io.get_executor(), *at, o.once));
}

} // namespace

void add_top(command& app, command_line& line)
{
    auto const o = std::make_shared<top_options>();
    auto* const command = app.add_subcommand("top", "Watch a program that was started with --admin-port");
    command->add({
        {"URL", o->url, "URL that the program told on standard error: http://127.0.0.1:41234/", required()},
        {"--once", o->once, "Print one picture, and end"},
    });
    command->footer(
        "Asks once a second, until it is interrupted. On a terminal each picture takes the place of the one before.");
    when_named(*command, line, [o] { return run_top(*o); });
}

} // namespace quern::app
