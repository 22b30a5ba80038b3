#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <memory>

namespace quern::app {

/// Notices the first SIGINT or SIGTERM, of a command that has something to put back before it ends. A second one ends
/// the process at once.
class told_to_end {
public:
    explicit told_to_end(boost::asio::io_context&);
    told_to_end(told_to_end const&) = delete;
    told_to_end& operator=(told_to_end const&) = delete;
    ~told_to_end();

    bool yes() const;

private:
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace quern::app
