#pragma once

#include <quern/aws/credentials/credentials.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>

namespace quern::aws {

/// Gets credentials, each time anew. What programs implement that have their keys elsewhere, in a vault say.
class credentials_source {
public:
    virtual ~credentials_source() = default;

    /// One call at a time. An exception counts as a failure.
    ///
    /// Cancellation  terminal.
    virtual boost::asio::awaitable<result<credentials>> load() = 0;
};

/// Keeps what the source gives, and renews it ahead of its expiry; see refresh_rule. One load at a time, whoever
/// asks: the old credentials are used meanwhile while they are valid, and who finds none waits for that load. When
/// the service says that they have expired they are loaded again, once; those that come again then just as they were,
/// and without an end, are taken for static. Nothing runs between two questions: a program that makes no calls loads
/// nothing.
///
/// A load begins on the executor, never within the call that finds it due. One that is still under way after 5
/// minutes is cancelled as soon as somebody asks, and counts as failed.
///
/// `jitter`: 0 to 1; empty for random_part().
///
/// Lifetime  a load under way is cancelled when the provider is destroyed; `time` outlives both.
/// Threads   one strand: that of the executor given.
std::shared_ptr<credentials_provider> cached_credentials(boost::asio::any_io_executor,
    std::unique_ptr<credentials_source>, clock& time = real_clock(), std::function<double()> jitter = {});

} // namespace quern::aws
