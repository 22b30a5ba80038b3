#include "consume/explain_on_signal.hpp"

#include "common/standard_streams.hpp"

#include <boost/asio/co_spawn.hpp>

#include <csignal>
#include <utility>

namespace quern::app {

explain_on_signal::explain_on_signal(boost::asio::io_context& io, consumer& of, std::string name)
    : io_(io), of_(of), name_(std::move(name)), asked_(io, SIGUSR1)
{}

void explain_on_signal::wait()
{
    asked_.async_wait([self = shared_from_this()](boost::system::error_code ec, int) {
        if (ec || self->over_) return;
        boost::asio::co_spawn(
            self->io_, self->of_.explain(), [self](std::exception_ptr bug, explanation const& said) {
                if (bug) std::rethrow_exception(bug);
                say(stderr, "quern: {}{}{}\n", self->name_, self->name_.empty() ? "" : ": ", to_string(said));
            });
        self->wait();
    });
}

void explain_on_signal::end()
{
    over_ = true;
    asked_.cancel();
}

} // namespace quern::app
