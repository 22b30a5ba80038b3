#include "common/line_writer.hpp"

#include <quern/core/detail/descriptor.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace quern::app {

namespace asio = boost::asio;

namespace {

constexpr std::size_t at_once = 4096; // PIPE_BUF: what a pipe that is ready takes whole

} // namespace

/// The right to write, or the wait for it. Whoever leaves with the pen free wakes the next, also when cancelled.
struct line_writer::turn {
    line_writer& of;
    bool mine = false;

    explicit turn(line_writer& w) : of(w) {}
    turn(turn const&) = delete;
    ~turn()
    {
        if (mine) of.busy_ = false;
        if (of.broken_)
            of.next_.cancel();
        else if (!of.busy_)
            of.next_.cancel_one();
    }
};

line_writer::line_writer(asio::any_io_executor ex, int descriptor)
    : descriptor_(descriptor), ready_(ex, descriptor, readiness::way::write),
      next_(ex, asio::steady_timer::time_point::max())
{}

asio::awaitable<result<void>> line_writer::write(std::string line)
{
    turn here(*this);
    while (busy_ && !broken_)
        co_await next_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (broken_) co_return *broken_;
    busy_ = here.mine = true;
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await put(line);
    if (broken_) co_return *broken_;
    co_return result<void>();
}

asio::awaitable<void> line_writer::put(std::string_view line)
{
    while (!line.empty() && !broken_) {
        if (!ready_.now()) co_await ready_.wait();
        auto const put = ::write(descriptor_, line.data(), std::min(line.size(), at_once));
        boost::system::error_code const error(put < 0 ? errno : 0, boost::system::system_category());
        if (put > 0) line.remove_prefix(static_cast<std::size_t>(put));
        if (!error || error == boost::system::errc::interrupted ||
            error == boost::system::errc::operation_would_block) {
            continue;
        }
        broken_ = detail::system_failure(error.value(), "standard output");
    }
}

} // namespace quern::app
