#include "relay/relay_check.hpp"

#include "common/depth.hpp"
#include "common/standard_streams.hpp"

#include <quern/net/endpoint.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/core.h>

namespace quern::app {

namespace asio = boost::asio;

namespace {

constexpr auto patience = std::chrono::seconds(5);

/// Why nobody takes a connection there; empty: somebody does.
asio::awaitable<std::string> why_unreachable(asio::any_io_executor ex, net::endpoint at)
{
    constexpr auto done = asio::as_tuple(asio::use_awaitable);
    asio::ip::tcp::resolver look(ex);
    asio::ip::tcp::socket socket(ex);
    asio::steady_timer limit(ex, patience);
    bool is_late = false;
    limit.async_wait([&](boost::system::error_code ec) {
        if (ec) return;
        is_late = true;
        look.cancel();
        socket.close(ec);
    });
    auto const port = std::to_string(at.port);
    auto [looked, found] = co_await look.async_resolve(at.host, port, done);
    boost::system::error_code ec = looked;
    if (!ec) {
        auto const [connected, where] = co_await asio::async_connect(socket, found, done);
        ec = connected;
    }
    limit.cancel();
    if (is_late) co_return "no answer in 5 s";
    co_return ec ? ec.message() : std::string();
}

} // namespace

asio::awaitable<int> check_surroundings(session& s, relay_settings const& how, std::vector<std::string> queues)
{
    for (auto const& queue : queues) {
        auto const there = co_await existing_queue(s.sqs, queue);
        if (!there) co_return s.complain(there.error(), queue);
    }
    auto const at = net::parse_url(how.url);
    bool const is_direct = how.relay.unix_socket.empty() && !how.web.proxy.value_or("").size();
    if (!at || !is_direct || how.checks_health || at->host.find('{') != std::string::npos) co_return ok;
    auto const why = co_await why_unreachable(s.io.get_executor(), *at);
    if (!why.empty())
        log_line(log_level::warning, fmt::format("{}: nobody takes connections: {}", at->origin(), why));
    co_return ok;
}

} // namespace quern::app
