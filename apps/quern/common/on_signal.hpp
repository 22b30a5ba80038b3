#pragma once

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>

namespace quern::app {

/// Does something each time a signal comes, as long as it lives.
///
/// Threads  the context's only one.
class on_signal {
public:
    on_signal(boost::asio::io_context&, int number, std::function<void()> what);
    on_signal(on_signal&&) = default;
    on_signal& operator=(on_signal&&) = delete;
    ~on_signal();

private:
    struct state;
    std::shared_ptr<state> state_; ///< a signal may be on its way at the end
};

} // namespace quern::app
