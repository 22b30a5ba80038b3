#pragma once

#include <quern/consumer/consumer.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <memory>
#include <string>

namespace quern::app {

/// Tells whoever sends SIGUSR1, on standard error, what the consumer does, and why no more.
class explain_on_signal : public std::enable_shared_from_this<explain_on_signal> {
public:
    /// `name`: of the queue, where there are several; else empty.
    explain_on_signal(boost::asio::io_context&, consumer&, std::string name = {});

    void wait();

    /// The consumer will be gone; a signal may be on its way.
    void end();

private:
    boost::asio::io_context& io_;
    consumer& of_;
    std::string const name_;
    boost::asio::signal_set asked_;
    bool over_ = false;
};

} // namespace quern::app
