#include <quern/net/detail/listener.hpp>

#include <quern/net/detail/as_values.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/v6_only.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <utility>

namespace quern::net::detail {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds accept_again_after(100);

} // namespace

listener::listener(asio::any_io_executor ex, clock& time)
    : time_(time), executor_(ex), acceptor_(ex), watch_(time, std::move(ex))
{}

result<void> listener::listen(std::string const& address, std::uint16_t port)
{
    boost::system::error_code ec;
    auto const parsed = asio::ip::make_address(address, ec);
    tcp::endpoint at(parsed, port);
    if (!ec) acceptor_.open(at.protocol(), ec);
    if (!ec) acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec && parsed.is_v6() && parsed.is_unspecified()) acceptor_.set_option(asio::ip::v6_only(false), ec);
    if (!ec) acceptor_.bind(at, ec);
    if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
    if (!ec) at = acceptor_.local_endpoint(ec);
    if (ec) {
        stop_accepting();
        return failure(
            errc::connect_failed, "cannot listen on " + address + ":" + std::to_string(port) + ": " + ec.message());
    }
    address_ = at.address().is_v6() ? "[" + address + "]" : address;
    port_ = at.port();
    return {};
}

std::string listener::origin(std::string_view scheme) const
{
    return std::string(scheme) + "://" + address_ + ":" + std::to_string(port_);
}

void listener::begin(host h)
{
    host_ = std::move(h);
    auto const ended = [owner = host_.owner](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug); // a server that has silently stopped to accept would be worse
    };
    asio::co_spawn(executor_, accept(), ended);
    asio::co_spawn(executor_, keep_deadlines(), ended);
    host_.owner.reset(); // or it would own itself
}

void listener::stop_accepting()
{
    boost::system::error_code ignored;
    acceptor_.close(ignored);
}

void listener::close()
{
    closed_ = true;
    stop_accepting();
    watch_.ring();
}

milliseconds listener::interval_for(std::initializer_list<milliseconds> timeouts)
{
    return std::clamp(std::min(timeouts) / 4, milliseconds(1), milliseconds(1000));
}

asio::awaitable<void> listener::accept()
{
    auto const nap = time_.make_timer(executor_);
    while (acceptor_.is_open()) {
        auto [ec, socket] = co_await acceptor_.async_accept(as_values);
        if (!acceptor_.is_open()) break;
        if (ec) { // out of file descriptors, most likely: when connections close it works again
            co_await nap->wait_until(time_.now() + accept_again_after);
            continue;
        }
        bool taken = true;
        try {
            host_.take(std::move(socket));
        } catch (std::bad_alloc const&) { // as above: the one who came has to come again
            taken = false;
        }
        if (!taken) co_await nap->wait_until(time_.now() + accept_again_after);
        if (!anybody_) watch_.ring();
    }
}

/// Deadlines are long, and a timer for each read would cost every request.
asio::awaitable<void> listener::keep_deadlines()
{
    while (!closed_) {
        std::optional<tick> until;
        if (anybody_) until = time_.now() + host_.look_every;
        co_await watch_.wait(until);
        if (!closed_) anybody_ = host_.look(time_.now());
    }
}

} // namespace quern::net::detail
