#pragma once

#include <quern/consumer/detail/run/handler_channel.hpp>
#include <quern/core/lodgers.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <optional>

namespace quern::detail {

/// The context on which handlers run: the consumer's own, or another one, which may end first. What is posted there
/// from then on is dropped, and the channel is told.
///
/// Threads  everything on the strand, but for the executor, which any thread may use.
class handler_context {
public:
    /// `own`: of the consumer. `elsewhere`: consumer_options::handler_executor.
    handler_context(boost::asio::any_io_executor own, std::optional<boost::asio::any_io_executor> elsewhere,
        std::shared_ptr<handler_channel> told);
    handler_context(handler_context const&) = delete;
    ~handler_context();

    bool is_elsewhere() const { return there_.home != nullptr; }

    /// Where handlers run. It may outlive the context, and runs nothing at once.
    boost::asio::any_io_executor const& executor() const { return executor_; }

    /// While handlers run, the consumer's own context does not run out of work. The other one's owner may wait for it
    /// to do so, on the thread that we run on.
    void keep_busy(bool);

private:
    struct presence;
    class visiting_executor;

    boost::asio::any_io_executor const own_;
    lodgers::place there_; // none: handlers run on the consumer's own context
    boost::asio::any_io_executor executor_;
    std::optional<boost::asio::any_io_executor> busy_;
};

} // namespace quern::detail
