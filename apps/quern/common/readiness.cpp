#include "common/readiness.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <poll.h>
#include <sys/epoll.h>

namespace quern::app {

namespace asio = boost::asio;

readiness::readiness(asio::any_io_executor ex, int descriptor, way w)
    : descriptor_(descriptor), way_(w), epoll_(std::move(ex), ::epoll_create1(EPOLL_CLOEXEC))
{
    epoll_event event{};
    event.events = w == way::read ? EPOLLIN : EPOLLOUT;
    // Refused for files, which are always ready; and for a closed one, whose read or write says so.
    ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, descriptor, &event);
}

bool readiness::now() const
{
    pollfd asked{descriptor_, static_cast<short>(way_ == way::read ? POLLIN : POLLOUT), 0};
    return ::poll(&asked, 1, 0) != 0;
}

asio::awaitable<void> readiness::wait()
{
    if (now()) co_return;
    co_await epoll_.async_wait(asio::posix::stream_descriptor::wait_read, asio::as_tuple(asio::use_awaitable));
}

} // namespace quern::app
