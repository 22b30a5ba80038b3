#pragma once

#include <quern/aws/clock_skew.hpp>
#include <quern/aws/credentials/credentials.hpp>
#include <quern/aws/detail/signing/json_signer.hpp>
#include <quern/aws/detail/signing/rest_signer.hpp>
#include <quern/aws/retry.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/detail/alarm_line.hpp>
#include <quern/net/client.hpp>

#include <boost/asio/awaitable.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace quern::aws::detail {

/// How one call travels. Not an aggregate: g++ 12.2 destroys those twice in a `co_await` expression (GCC PR107288).
struct call_options {
    net::lane via = net::lane::control;
    std::chrono::milliseconds timeout{10'000}; ///< of each attempt, the wait for credentials included
    bool repeatable = false;                   ///< see net::request
    bool long_poll = false;                    ///< see retries; has the whole timeout once there are credentials
    int* attempts = nullptr;                   ///< counts what is sent; outlives the call
    std::string* refused = nullptr;            ///< takes the body of the error that the call ends with; outlives it

    call_options() {}
};

/// One service at one endpoint, whatever its protocol.
///
/// Lifetime  outlives its calls.
/// Threads   one strand: that of its connections.
class service {
public:
    virtual ~service() = default;

    /// `operation`: as the signer has it; it outlives the call.
    ///
    /// Completes with an answer of status 2xx. Each attempt is signed anew, with the credentials of that moment. Like
    /// in the AWS SDKs, a call whose answer never came is tried again: it may have been carried out twice. So is one
    /// that found no credentials where there may be some soon. Expired ones that are refused are renewed once; an
    /// error that says so all the same is `retryable` unless there are no others to come.
    ///
    /// Fails with    errc::service_error, throttled  the service said so, after the last attempt
    ///               errc::no_credentials            there is nothing to sign with
    ///               errc::timed_out                 credentials did not come in the time of an attempt
    ///               errc::stopped                   cancelled, or closed
    ///               and as net::client::exchange does, after the last attempt
    /// Cancellation  terminal, also while waiting for the next attempt.
    virtual boost::asio::awaitable<result<net::response>> call(
        std::string_view operation, std::string body, call_options) = 0;

    /// Ends what waits here with errc::stopped, for credentials or between two attempts, and no call waits here any
    /// more. What the connections have under way is theirs to end.
    virtual void close() = 0;

    /// The service's clock, as far as is known.
    virtual std::shared_ptr<service_clock const> theirs() const = 0;
};

/// Signs, sends, reads errors, tries again.
///
/// Signer    writes the requests, in the service's protocol.
/// Lifetime  the client and the clock outlive it.
template <class Signer>
class signed_service final : public service {
public:
    using target = std::remove_cvref_t<decltype(std::declval<Signer const&>().target())>;
    using random = std::function<double()>; ///< 0 to 1

    /// `where`: its host and path are taken from the client's endpoint. `jitter`: empty for random_part().
    /// Throws boost::system::system_error when a retry option is invalid.
    signed_service(net::client&, target where, std::shared_ptr<credentials_provider>, clock&,
        retry_options = retry_options(), random jitter = {});

    boost::asio::awaitable<result<net::response>> call(
        std::string_view operation, std::string body, call_options) override;
    void close() override;
    std::shared_ptr<service_clock const> theirs() const override { return theirs_; }

    retry_quota const& quota(net::lane l) const { return quotas_[index(l)]; }

private:
    struct letter {
        std::string_view operation;
        std::string_view body;
        credentials const& keys;
        bool is_poll;
    };
    std::string sign(letter const&);
    void read_date(net::response const&);
    static std::size_t index(net::lane l) { return l == net::lane::data ? 0 : 1; }
    boost::asio::awaitable<result<shared_credentials>> wait_for_keys(std::chrono::milliseconds& left);
    boost::asio::awaitable<result<shared_credentials>> find_keys(
        retries&, call_options, std::chrono::milliseconds& left);
    boost::asio::awaitable<std::optional<failure>> rest(retry_advice, failure);

    net::client& client_;
    Signer signer_;
    std::shared_ptr<credentials_provider> keys_;
    clock& clock_;
    retry_options options_;
    random jitter_;
    clock_skew skew_;
    std::shared_ptr<service_clock> const theirs_ = std::make_shared<service_clock>();
    std::array<retry_quota, 2> quotas_; ///< one a lane: failing polls must not keep deletes from being retried
    quern::detail::alarm_line waiting_;
    bool closed_ = false;
};

using json_service = signed_service<json_signer>;
using rest_service = signed_service<rest_signer>;

extern template class signed_service<json_signer>;
extern template class signed_service<rest_signer>;

} // namespace quern::aws::detail
