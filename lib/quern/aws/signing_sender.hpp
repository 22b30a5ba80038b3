#pragma once

#include <quern/aws/clock_skew.hpp>
#include <quern/aws/credentials/credentials.hpp>
#include <quern/core/clock.hpp>
#include <quern/net/web_hook.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace quern::aws {

namespace detail {
class signing_keys;
}

/// Service and region of a signature.
struct signing_place {
    std::string service; ///< its signing name: "monitoring", "xray"
    std::string region;
};

/// The place that a host's name tells: "xray.eu-west-1.amazonaws.com" is xray in eu-west-1. Nothing for hosts of
/// others than AWS's services: they are shown no signature.
std::optional<signing_place> signing_place_of(std::string_view host);

/// A sender that puts AWS's signature (SigV4, in headers) on each request: for services without operations of their
/// own, as the OTLP endpoints of CloudWatch and X-Ray are.
///
/// A request that is refused because the credentials have expired, or because our clock is wrong, is sent once more,
/// with others or with the right time.
///
/// Lifetime  outlives its requests, as the next sender and the clock outlive it.
/// Threads   one strand: whoever sends.
class signing_sender final : public net::web_hook_sender {
public:
    signing_sender(
        net::web_hook_sender& next, std::shared_ptr<credentials_provider>, signing_place, clock& = real_clock());
    ~signing_sender() override;

    /// Credentials are waited for no longer than the request's timeout, which has the less for the rest.
    ///
    /// Fails with    web_hook_fault::invalid_request where there are no credentials (errc::no_credentials) or none in
    ///               time (errc::timed_out), and as the next sender does
    /// Cancellation  as the next sender's, and terminal while credentials are fetched.
    boost::asio::awaitable<net::web_hook_result> send(net::web_hook_request) override;

private:
    net::web_hook_request with_signature(net::web_hook_request const&, credentials const&);
    boost::asio::awaitable<result<shared_credentials>> wait_for_keys(std::chrono::milliseconds& left);
    bool may_pass_now(net::response const&, shared_credentials const&);

    net::web_hook_sender& next_;
    std::shared_ptr<credentials_provider> keys_;
    signing_place const place_;
    clock& clock_;
    clock_skew skew_;
    std::unique_ptr<detail::signing_keys> derived_;
};

} // namespace quern::aws
