#pragma once

#include "common/progress.hpp"

#include <quern/redrive/redriver.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>

namespace quern::app {

/// Shows how a redrive gets on, and hands it the signals that are to stop it.
///
/// Threads  the context's only one.
class redrive_watch : public std::enable_shared_from_this<redrive_watch> {
public:
    /// `expected`: how many messages the run is likely to take, 0 when nobody knows; `settled`: by processes before
    /// this one. `also` is told the counts now and then, where it is not null.
    redrive_watch(boost::asio::io_context&, redrive::redriver&, std::size_t expected, std::size_t settled,
        std::function<void(redrive::report const&)> also = {});

    void begin();
    void end(); ///< before the redriver is gone

private:
    void show_soon();
    void await_signal();

    redrive::redriver& of_;
    boost::asio::steady_timer timer_;
    boost::asio::signal_set told_;
    std::size_t const expected_;
    std::size_t settled_; ///< when began_at_ was
    std::function<void(redrive::report const&)> const also_;
    tick began_at_; ///< the sends that an estimate goes by
    progress bar_;
    bool over_ = false;
};

/// "redriven 97, isolated 2, left 1", and what else is not zero.
std::string counts_text(redrive::report const&);

} // namespace quern::app
