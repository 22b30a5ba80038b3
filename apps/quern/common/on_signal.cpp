#include "common/on_signal.hpp"

#include <boost/asio/signal_set.hpp>

#include <utility>

namespace quern::app {

struct on_signal::state : std::enable_shared_from_this<state> {
    state(boost::asio::io_context& io, int number, std::function<void()> f) : signals(io, number), what(std::move(f))
    {}

    void wait()
    {
        signals.async_wait([self = shared_from_this()](boost::system::error_code ec, int) {
            if (ec || self->over) return;
            self->what();
            self->wait();
        });
    }

    boost::asio::signal_set signals;
    std::function<void()> const what;
    bool over = false;
};

on_signal::on_signal(boost::asio::io_context& io, int number, std::function<void()> what)
    : state_(std::make_shared<state>(io, number, std::move(what)))
{
    state_->wait();
}

on_signal::~on_signal()
{
    if (!state_) return;
    state_->over = true;
    state_->signals.cancel();
}

} // namespace quern::app
