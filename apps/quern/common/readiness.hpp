#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace quern::app {

/// Tells when a descriptor that this process shares with others, like standard output, can be read or written.
///
/// Asio would make it non-blocking, and with it that of everybody who has the same terminal or pipe. So an epoll
/// descriptor of our own watches it, and Asio watches that.
class readiness {
public:
    enum class way { read, write };

    readiness(boost::asio::any_io_executor, int descriptor, way);

    /// A read returns at once now; of a write that holds for up to 4096 bytes (PIPE_BUF).
    bool now() const;

    /// Completes when that is so, or when the descriptor is broken.
    ///
    /// Cancellation  terminal; completes as well.
    boost::asio::awaitable<void> wait();
    void cancel() { epoll_.cancel(); } ///< ends the wait

private:
    int descriptor_;
    way way_;
    boost::asio::posix::stream_descriptor epoll_;
};

} // namespace quern::app
