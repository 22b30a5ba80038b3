#include "common/service_manager.hpp"

#include <quern/core/detail/text/reading.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace quern::app {

using namespace quern::detail;

namespace {

constexpr std::chrono::microseconds shortest{1'000}; // between two of its feeds, whatever the environment says

std::string variable(char const* name)
{
    auto const* const value = std::getenv(name);
    return value ? value : "";
}

std::optional<std::int64_t> number(std::string const& text)
{
    auto const out = text::number_in<std::int64_t>(text);
    return out && *out > 0 ? out : std::nullopt;
}

void send(std::string const& socket, std::string_view news)
{
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    if (socket.empty() || socket.size() >= sizeof to.sun_path) return;
    std::memcpy(to.sun_path, socket.data(), socket.size());
    if (to.sun_path[0] == '@') to.sun_path[0] = '\0'; // an abstract name
    auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
    int const from = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (from < 0) return;
    ::sendto(from, news.data(), news.size(), MSG_NOSIGNAL, reinterpret_cast<sockaddr const*>(&to), size);
    ::close(from);
}

} // namespace

struct service_manager::watchdog : std::enable_shared_from_this<watchdog> {
    watchdog(boost::asio::any_io_executor ex, std::string to, std::chrono::microseconds each,
        std::function<boost::asio::awaitable<bool>()> ask)
        : timer(std::move(ex)), socket(std::move(to)), interval(each), alive(std::move(ask))
    {}

    boost::asio::awaitable<void> feed()
    {
        while (!over) {
            timer.expires_after(interval);
            bool is_alive = true;
            if (alive) is_alive = co_await alive();
            if (is_alive && !over) send(socket, "WATCHDOG=1");
            if (!over) co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
        }
    }

    boost::asio::steady_timer timer;
    std::string const socket;
    std::chrono::microseconds const interval;
    std::function<boost::asio::awaitable<bool>()> const alive;
    bool over = false;
};

service_manager::service_manager(boost::asio::any_io_executor ex)
    : ex_(std::move(ex)), socket_(variable("NOTIFY_SOCKET"))
{
    auto const meant = number(variable("WATCHDOG_PID"));
    if (meant && *meant != ::getpid()) return;
    if (auto const wait = number(variable("WATCHDOG_USEC"))) patience_ = std::chrono::microseconds(*wait);
}

service_manager::~service_manager()
{
    if (!watchdog_) return;
    watchdog_->over = true;
    watchdog_->timer.cancel();
}

void service_manager::ready(std::string const& status, std::function<boost::asio::awaitable<bool>()> alive)
{
    send(socket_, "READY=1\nSTATUS=" + status);
    if (!patience_ || socket_.empty() || watchdog_) return;
    watchdog_ = std::make_shared<watchdog>(ex_, socket_, std::max(*patience_ / 2, shortest), std::move(alive));
    auto const work = [its = watchdog_]() -> boost::asio::awaitable<void> { co_await its->feed(); };
    boost::asio::co_spawn(ex_, work, [](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    });
}

void service_manager::stopping()
{
    send(socket_, "STOPPING=1\nSTATUS=stopping");
}

} // namespace quern::app
