#include "common/told_to_end.hpp"

#include "common/complaint.hpp"

#include <csignal>

namespace quern::app {

struct told_to_end::state {
    explicit state(boost::asio::io_context& io) : signals(io, SIGINT, SIGTERM) {}

    boost::asio::signal_set signals;
    bool told = false;
};

told_to_end::told_to_end(boost::asio::io_context& io) : state_(std::make_shared<state>(io))
{
    state_->signals.async_wait([here = state_](boost::system::error_code ec, int) {
        if (ec) return;
        here->told = true;
        here->signals.clear(); // the next one does what it does by default
        log_line(log_level::info, "giving back what is held; a second signal ends this at once");
    });
}

told_to_end::~told_to_end()
{
    boost::system::error_code ignored;
    state_->signals.cancel(ignored);
}

bool told_to_end::yes() const
{
    return state_->told;
}

} // namespace quern::app
