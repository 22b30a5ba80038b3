#pragma once

#include <quern/aws/environment.hpp>
#include <quern/core/error.hpp>

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

namespace quern::aws {

/// An access key, and with temporary credentials the token that belongs to it.
struct credentials {
    std::string access_key_id;
    std::string secret_access_key;
    std::string session_token; ///< empty for long-term keys

    bool operator==(credentials const&) const = default;
};

using shared_credentials = std::shared_ptr<credentials const>;

/// Where signatures take their key from. Asked before every attempt of every call, so it answers from memory whenever
/// it can.
///
/// Threads  the strand of whoever asks.
class credentials_provider {
public:
    virtual ~credentials_provider() = default;

    /// Fails with    errc::no_credentials  none are to be had; the message says what to do
    /// Cancellation  terminal.
    virtual boost::asio::awaitable<result<shared_credentials>> get() = 0;

    /// The service says that these have expired. True when get() may answer with others now.
    virtual bool renew(shared_credentials const& /*refused*/) { return false; }
};

/// Always these.
std::shared_ptr<credentials_provider> static_credentials(credentials);

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN. An empty variable counts as not set.
///
/// Fails with  errc::no_credentials  no key; or a key without its secret; or a value that no header can carry
result<credentials> credentials_from(environment const&);

} // namespace quern::aws
