#include <quern/net/resolver.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace quern::net {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::chrono::seconds keep_for{30}; // of the order of the TTL of the service's own records
constexpr auto as_values = asio::as_tuple(asio::use_awaitable);

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
    if (std::chrono::steady_clock::now() >= fresh_until_) {
        if (!looking_) look_up();
        asio::steady_timer answered(resolver_.get_executor(), deadline);
        waiting_.push_back(&answered);
        auto const [ec] = co_await answered.async_wait(as_values);
        std::erase(waiting_, &answered);
        if (!ec && looking_ && known_.empty()) {
            co_return failure(errc::timed_out, "look-up of " + peer_.host + " takes too long", true);
        }
        if (looking_ && known_.empty()) co_return failure(errc::stopped, "cancelled while looking up " + peer_.host);
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
            if (!ec && !found.empty()) {
                self->known_.assign(found.begin(), found.end());
                self->fresh_until_ = std::chrono::steady_clock::now() + keep_for;
            }
            for (auto* waiter : self->waiting_)
                waiter->cancel();
        });
}

} // namespace quern::net
