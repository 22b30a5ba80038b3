#include "consume/settings_on_signal.hpp"

#include "common/complaint.hpp"
#include "consume/settings_file.hpp"

#include <quern/core/detail/printable.hpp>

#include <boost/asio/co_spawn.hpp>

#include <fmt/core.h>

#include <csignal>
#include <utility>

namespace quern::app {

namespace asio = boost::asio;

settings_on_signal::settings_on_signal(asio::io_context& io, std::string path, consumer_limits base, consume_work& of)
    : io_(io), path_(std::move(path)), base_(std::move(base)), of_(of), asked_(io, SIGHUP)
{}

void settings_on_signal::wait()
{
    asked_.async_wait([self = shared_from_this()](boost::system::error_code ec, int) {
        if (ec || self->over_) return;
        self->read();
        self->wait();
    });
}

void settings_on_signal::end()
{
    over_ = true;
    asked_.cancel();
}

void settings_on_signal::read()
{
    auto const found = load_limits(path_);
    if (!found) {
        log_line(
            log_level::error, fmt::format("the settings stay as they are: {}", printable(found.error().message)));
        return;
    }
    auto const ended = [self = shared_from_this()](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    };
    asio::co_spawn(io_, turn(found->over(base_)), ended);
}

asio::awaitable<void> settings_on_signal::turn(consumer_limits to)
{
    auto const said = co_await of_.set_limits(to);
    if (said)
        log_line(log_level::info, fmt::format("the settings of {} are in force", printable(path_)));
    else if (!over_)
        log_line(log_level::error,
            fmt::format("the settings stay as they are: --settings {}: {}", printable(path_), said.error().message));
}

} // namespace quern::app
