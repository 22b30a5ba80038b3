#include <quern/net/detail/connect_race.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

namespace quern::net::detail {

namespace asio = boost::asio;
using asio::ip::tcp;

tcp_addresses interleaved(tcp_addresses addresses)
{
    if (addresses.empty()) return addresses;
    auto const family = addresses.front().protocol();
    auto const is_of_first = [&](tcp::endpoint const& each) { return each.protocol() == family; };
    auto const middle = std::stable_partition(addresses.begin(), addresses.end(), is_of_first);
    tcp_addresses out;
    for (auto one = addresses.begin(), other = middle; one != middle || other != addresses.end();) {
        if (one != middle) out.push_back(*one++);
        if (other != addresses.end()) out.push_back(*other++);
    }
    return out;
}

connect_plan::connect_plan(std::size_t addresses, tick now, tick deadline)
    : addresses_(std::min<std::size_t>(addresses, 16)), due_at_(now) // each is a socket at the same time
{
    constexpr std::chrono::nanoseconds usual = std::chrono::milliseconds(250);
    auto const share = (deadline - now) / static_cast<int>(std::max<std::size_t>(addresses_, 1));
    stagger_ = std::clamp<std::chrono::nanoseconds>(share, std::chrono::nanoseconds(0), usual);
}

std::optional<std::size_t> connect_plan::due(tick now)
{
    if (next_ == addresses_ || now < due_at_) return {};
    due_at_ = now + stagger_;
    return next_++;
}

void connect_plan::failed()
{
    ++failures_;
    due_at_ = tick();
}

connect_race::connect_race(asio::any_io_executor ex, tcp_addresses addresses, tick deadline)
    : addresses_(interleaved(std::move(addresses))),
      plan_(addresses_.size(), std::chrono::steady_clock::now(), deadline), last_error_(asio::error::host_not_found),
      bell_(std::move(ex))
{}

asio::awaitable<boost::system::error_code> connect_race::run(tcp::socket& out)
{
    auto const self = shared_from_this();
    while (!winner_ && !stopped_ && !plan_.all_failed()) {
        if (auto const next = plan_.due(std::chrono::steady_clock::now())) start(*next);
        rung_ = false;
        bell_.expires_at(plan_.due_at());
        auto const [ec] = co_await bell_.async_wait(asio::as_tuple(asio::use_awaitable));
        if (ec && !rung_) stop(); // cancelled
    }
    if (stopped_) co_return asio::error::operation_aborted;
    if (!winner_) co_return last_error_;
    out = std::move(**winner_);
    stop();
    co_return boost::system::error_code();
}

void connect_race::start(std::size_t address)
{
    auto const attempt = attempts_.emplace(attempts_.end(), bell_.get_executor());
    attempt->async_connect(addresses_[address],
        [self = shared_from_this(), attempt](boost::system::error_code ec) { self->ended(attempt, ec); });
}

void connect_race::ended(sockets::iterator attempt, boost::system::error_code ec)
{
    if (stopped_ || winner_) return;
    if (!ec) {
        winner_ = attempt;
    } else {
        last_error_ = ec;
        attempts_.erase(attempt);
        plan_.failed();
    }
    rung_ = true;
    bell_.cancel();
}

void connect_race::stop()
{
    stopped_ = true;
    boost::system::error_code ignored;
    for (auto& attempt : attempts_)
        attempt.close(ignored);
    rung_ = true;
    bell_.cancel();
}

} // namespace quern::net::detail
