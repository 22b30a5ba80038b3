#include "hostile_wire.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <exception>
#include <utility>

namespace quern::test {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;

namespace {

constexpr auto as_values = asio::as_tuple(asio::use_awaitable);

/// A reset rather than an end in order.
void reset(tcp::socket& one)
{
    boost::system::error_code ignored;
    one.set_option(asio::socket_base::linger(true, 0), ignored);
    one.close(ignored);
}

void rethrow(std::exception_ptr bug)
{
    if (bug) std::rethrow_exception(bug);
}

} // namespace

hostile_wire::hostile_wire(asio::io_context& io, std::uint16_t to, std::uint64_t seed)
    : io_(io), door_(io, {asio::ip::address_v4::loopback(), 0}), to_(asio::ip::address_v4::loopback(), to),
      dice_(seed)
{
    asio::co_spawn(io_, accept(), rethrow);
}

void hostile_wire::break_all(bool silently)
{
    for (auto const& one : links(links_)) {
        one->is_dead = {true, true};
        if (silently) continue;
        for (auto& end : one->ends)
            reset(end);
    }
}

asio::awaitable<void> hostile_wire::accept()
{
    for (;;) {
        auto [failed, near] = co_await door_.async_accept(as_values);
        if (failed) co_return;
        ++accepted_;
        if (happens(faults_.refused)) {
            reset(near);
            continue;
        }
        auto const made = std::make_shared<link>(link{{std::move(near), tcp::socket(io_)}});
        made->is_dead.fill(happens(faults_.ignored));
        auto const [refused] = co_await made->ends[1].async_connect(to_, as_values);
        if (refused) {
            reset(made->ends[0]);
            continue;
        }
        for (auto& end : made->ends)
            end.set_option(tcp::no_delay(true));
        links_.push_back(made);
        for (std::size_t from : {0, 1})
            asio::co_spawn(io_, carry(made, from), rethrow);
    }
}

asio::awaitable<void> hostile_wire::wait(milliseconds length)
{
    if (length.count() == 0) co_return;
    asio::steady_timer timer(io_, length);
    co_await timer.async_wait(as_values);
}

asio::awaitable<void> hostile_wire::carry(std::shared_ptr<link> of, std::size_t from)
{
    auto& here = of->ends[from];
    auto& there = of->ends[1 - from];
    std::array<char, 16'384> buffer;
    for (bool goes_on = true; goes_on;) {
        auto const [over, size] = co_await here.async_read_some(asio::buffer(buffer), as_values);
        if (over) break;
        goes_on = co_await pass(*of, from, std::string(buffer.data(), size));
    }
    boost::system::error_code ignored;
    if (!of->is_dead[from]) there.shutdown(tcp::socket::shutdown_send, ignored);
    if (--of->pumps != 0) co_return;
    for (auto& end : of->ends)
        end.close(ignored);
    links_.remove(of);
}

/// False when the connection is over.
asio::awaitable<bool> hostile_wire::pass(link& of, std::size_t from, std::string piece)
{
    auto& there = of.ends[1 - from];
    if (happens(faults_.reset)) {
        for (auto& end : of.ends)
            reset(end);
        co_return false;
    }
    if (happens(faults_.closed)) {
        boost::system::error_code ignored;
        for (auto& end : of.ends)
            end.shutdown(tcp::socket::shutdown_both, ignored);
        co_return false;
    }
    of.is_dead[from] = of.is_dead[from] || happens(faults_.halved);
    if (of.is_dead[from]) co_return true; // it disappears
    auto const is_slow = happens(faults_.slow);
    auto const is_torn = happens(faults_.torn);
    auto const most = is_slow ? milliseconds(8'000) : faults_.latency;
    auto const takes = dice_.between(milliseconds(is_slow ? 500 : 0), most);
    co_await wait(takes);
    while (!piece.empty() && !of.is_dead[from]) {
        auto const size = is_torn ? static_cast<std::size_t>(dice_.between(1, 700)) : piece.size();
        auto const now = piece.substr(0, size);
        piece.erase(0, now.size());
        auto const [failed, sent] = co_await asio::async_write(there, asio::buffer(now), as_values);
        if (failed) co_return false;
        if (is_torn) co_await wait(dice_.between(milliseconds(0), milliseconds(20)));
    }
    co_return true;
}

} // namespace quern::test
