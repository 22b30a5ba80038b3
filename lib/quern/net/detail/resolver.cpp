#include <quern/net/detail/http_rules.hpp>
#include <quern/net/detail/resolver.hpp>

#include <algorithm>

namespace quern::net::detail {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::chrono::seconds keep_for{30}; // of the order of the TTL of the service's own records

} // namespace

resolver::resolver(asio::any_io_executor ex, endpoint const& peer) : peer_(peer), resolver_(std::move(ex))
{
    boost::system::error_code not_an_address;
    auto const literal = asio::ip::make_address(peer.host, not_an_address);
    if (!not_an_address) {
        known_.emplace_back(literal, peer.port);
        fresh_until_ = tick::max();
    }
}

asio::awaitable<result<tcp_addresses>> resolver::addresses(tick deadline)
{
    auto const self = shared_from_this();
    auto const time = std::chrono::steady_clock::now();
    if (time >= fresh_until_) {
        if (!looking_) look_up();
        // With a stale answer at hand, half of the time is kept for connecting, lest a silent name service take it
        // all.
        if (!known_.empty()) deadline = time + (deadline - time) / 2;
        waiter answer(resolver_.get_executor(), deadline, waiting_);
        auto const [ec] = co_await answer.turn();
        if (!answer.is_called() && ec) co_return failure(errc::stopped, "cancelled while looking up " + peer_.host);
        if (!answer.is_called() && known_.empty()) {
            co_return failure(errc::connect_failed, "look-up of " + peer_.host + " takes too long", true);
        }
    }
    if (known_.empty()) {
        co_return failure(errc::connect_failed, "look-up of " + peer_.host + ": " + last_error_.message(), true);
    }
    co_return known_;
}

void resolver::look_up()
{
    looking_ = true;
    resolver_.async_resolve(peer_.host, std::to_string(peer_.port),
        [self = shared_from_this()](boost::system::error_code ec, tcp::resolver::results_type const& found) {
            self->looking_ = false;
            self->last_error_ = ec;
            auto addresses = tcp_addresses(found.begin(), found.end());
            if (addresses.empty() && is_local_host(self->peer_.host, {})) { // as without /etc/hosts (RFC 6761, 6.3)
                addresses = self->known_;
                if (addresses.empty())
                    addresses = {{asio::ip::address_v6::loopback(), self->peer_.port},
                        {asio::ip::address_v4::loopback(), self->peer_.port}};
            }
            if (!addresses.empty()) {
                self->known_ = std::move(addresses);
                self->fresh_until_ = std::chrono::steady_clock::now() + keep_for;
            }
            for (auto* one : self->waiting_)
                one->call();
        });
}

void resolver::prefer(tcp::endpoint const& address)
{
    auto const found = std::find(known_.begin(), known_.end(), address);
    if (found != known_.end()) std::rotate(known_.begin(), found, found + 1);
}

void resolver::demote(tcp::endpoint const& address)
{
    auto const found = std::find(known_.begin(), known_.end(), address);
    if (found != known_.end()) std::rotate(found, found + 1, known_.end());
}

void resolver::close()
{
    resolver_.cancel(); // a look-up that waits behind others, as all of the program's share one thread
    for (auto* one : waiting_)
        one->send_away();
}

} // namespace quern::net::detail
