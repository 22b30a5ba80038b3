#include <quern/net/detail/http_server.hpp>

#include <quern/core/detail/text/date.hpp>
#include <quern/net/detail/http_connection.hpp>

#include <boost/asio/co_spawn.hpp>

#include <utility>

namespace quern::net::detail {

using namespace quern::detail;
namespace asio = boost::asio;
using asio::ip::tcp;

http_server::http_server(
    asio::any_io_executor ex, http_limits const& most, std::shared_ptr<asio::ssl::context> with, clock& t)
    : limits(most), time(t), tls(std::move(with)), bodies(limits.max_held_bytes), executor_(ex), listener_(ex, t),
      emptied_(t, ex)
{}

result<void> http_server::listen(std::string const& address, std::uint16_t port)
{
    if (auto const bound = listener_.listen(address, port); !bound) return bound.error();
    listener::host host;
    host.owner = shared_from_this();
    host.take = [this](tcp::socket s) { take(std::move(s)); };
    host.look = [this](tick now) { return look(now); };
    auto const body = limits.body_timeout.count() == 0 ? limits.header_timeout : limits.body_timeout;
    host.look_every = listener::interval_for(
        {limits.handshake_timeout, limits.header_timeout, body, limits.write_timeout, limits.idle_timeout});
    listener_.begin(std::move(host));
    return {};
}

std::string http_server::origin() const
{
    return listener_.origin(tls ? "https" : "http");
}

void http_server::take(tcp::socket socket)
{
    ++counters_.connections;
    if (open_.size() >= limits.max_connections && !make_room()) {
        ++counters_.cut;
        return;
    }
    auto const client = std::make_shared<http_connection>(shared_from_this(), std::move(socket));
    auto const ended = [client](std::exception_ptr) { client->close(); };
    asio::co_spawn(executor_, client->run(), ended);
}

bool http_server::look(tick now)
{
    look_around();
    for (auto* const c : open_) {
        if (c->standing().deadline <= now && !c->standing().closed) cut(*c);
    }
    return !open_.empty();
}

/// At the limit of connections those that have proved nothing give way, the oldest first. Followers stay: they are
/// few, and somebody looks at them.
bool http_server::make_room()
{
    http_connection* oldest = nullptr;
    for (auto* const c : open_) {
        bool const stays = c->standing().proven || c->standing().follows || c->standing().closed;
        if (!stays && (!oldest || c->standing().since < oldest->standing().since)) oldest = c;
    }
    if (oldest) cut(*oldest);
    return oldest != nullptr;
}

void http_server::make_way()
{
    bodies.each_with_room([](body_budget::share const& one) { one.whose()->wake(); });
}

void http_server::limit_bodies(body_budget::share const& latest)
{
    while (bodies.crowded(latest))
        cut(*bodies.oldest()->whose());
}

void http_server::limit_unsent(http_connection const& latest)
{
    // Connections that hold next to nothing are spared.
    auto const spared = limits.max_unsent_bytes / 4;
    while (unsent_bytes > limits.max_unsent_bytes && unsent_bytes - latest.standing().unsent > spared) {
        http_connection* largest = nullptr;
        for (auto* const c : open_) {
            if (c != &latest && (!largest || c->standing().unsent > largest->standing().unsent)) largest = c;
        }
        cut(*largest);
    }
}

void http_server::cut(http_connection& c)
{
    ++counters_.cut;
    c.close();
}

void http_server::enter(http_connection& c)
{
    open_.insert(&c);
}

void http_server::leave(http_connection& c)
{
    open_.erase(&c);
    owed_.erase(&c);
    if (open_.empty()) emptied_.ring();
}

void http_server::release()
{
    for (auto* const c : std::exchange(owed_, {}))
        c->released();
}

void http_server::tell(std::string_view piece)
{
    for (auto* const c : open_)
        c->tell(piece);
}

std::string_view http_server::date()
{
    auto const second = std::chrono::floor<std::chrono::seconds>(time.wall());
    if (second != date_at_) {
        date_at_ = second;
        date_ = text::http_date(second);
    }
    return date_;
}

void http_server::begin_to_stop()
{
    stopping_ = true;
    listener_.stop_accepting();
}

asio::awaitable<void> http_server::drain(std::chrono::milliseconds limit)
{
    auto const self = shared_from_this();
    begin_to_stop();
    for (auto* const c : open_)
        c->finish();
    std::optional<tick> deadline = time.now() + limit;
    while (!open_.empty()) {
        auto const rung = co_await emptied_.wait(deadline);
        if (rung) continue;
        for (auto* const c : open_)
            c->close();
        deadline.reset();
    }
}

void http_server::shut()
{
    stopping_ = true;
    shut_ = true;
    listener_.close();
    for (auto* const c : open_)
        c->close();
}

} // namespace quern::net::detail
