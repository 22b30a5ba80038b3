#pragma once

#include "consume/consume_work.hpp"

#include <quern/consumer/limits.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <memory>
#include <string>

namespace quern::app {

/// Reads a file of settings again when SIGHUP comes, and turns the limits that it names; those that it does not name
/// any more are again as the command line says. A file that cannot be used changes nothing, and the log says why.
class settings_on_signal : public std::enable_shared_from_this<settings_on_signal> {
public:
    /// `base`: what the command line says.
    settings_on_signal(boost::asio::io_context&, std::string path, consumer_limits base, consume_work&);

    void wait();

    /// The consumers will be gone; a signal may be on its way.
    void end();

private:
    void read();
    boost::asio::awaitable<void> turn(consumer_limits);

    boost::asio::io_context& io_;
    std::string const path_;
    consumer_limits const base_;
    consume_work& of_;
    boost::asio::signal_set asked_;
    bool over_ = false;
};

} // namespace quern::app
