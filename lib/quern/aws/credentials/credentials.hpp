#pragma once

#include <quern/aws/config/environment.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>

namespace quern::aws {

/// An access key, and with temporary credentials the token that belongs to it.
struct credentials {
    std::string access_key_id;
    std::string secret_access_key;
    std::string session_token;                ///< empty for long-term keys
    std::optional<wall_time> expires_at = {}; ///< absent when nobody said that they end
    std::string account_id = {};              ///< empty when nobody said whose they are

    bool operator==(credentials const&) const = default;
};

using shared_credentials = std::shared_ptr<credentials const>;

/// Fate of credentials that the service refuses because they have expired.
enum class renewal {
    never, ///< there are no others, and will not be
    later, ///< asked so soon, what hands them out would give the same: a later call may be accepted
    now,   ///< get() may answer with others
};

/// Where signatures take their key from. Asked before every attempt of every call, so it answers from memory whenever
/// it can.
///
/// Threads  the strand of whoever asks.
class credentials_provider {
public:
    virtual ~credentials_provider() = default;

    /// Credentials in memory, if they may be used now; null: get() has to be awaited. Neither allocates nor suspends.
    virtual shared_credentials at_hand() { return nullptr; }

    /// Fails with    errc::no_credentials  none are to be had; the message says what to do. `retryable` when there
    ///                                     have been some, or it was a network or a service that failed
    ///               errc::stopped         cancelled
    /// Cancellation  terminal.
    virtual boost::asio::awaitable<result<shared_credentials>> get() = 0;

    /// The service says that these have expired.
    virtual renewal renew(shared_credentials const& /*refused*/) { return renewal::never; }

    /// For its owner: ends whatever is under way, each get() with errc::stopped, and begins nothing more.
    virtual void close() {}
};

/// Always these.
std::shared_ptr<credentials_provider> static_credentials(credentials);

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_CREDENTIAL_EXPIRATION, AWS_ACCOUNT_ID. A variable
/// that is empty or blank counts as not set.
///
/// Fails with  errc::no_credentials  no key; or a key without its secret; or a value that no header can carry
[[nodiscard]] result<credentials> credentials_from(environment const&);

/// Flaw that makes these unusable, wherever they come from: a part is missing, or a header could not carry it. Never
/// shows them.
std::optional<std::string> flaw_of(credentials const&);

} // namespace quern::aws
