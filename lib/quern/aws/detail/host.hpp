#pragma once

#include <quern/aws/client_options.hpp>
#include <quern/aws/config/endpoint_rules.hpp>
#include <quern/aws/detail/call.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/detail/strand_home.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace quern::aws::detail {

/// Wishes of a service besides its region.
using host_target = std::variant<json_target, rest_target>;

/// Common part of all clients: connections, keys and calls, touched on a strand only, and ended with its context. A
/// client that keeps more there derives its own from it.
struct host : quern::detail::lodgers::lodger {
    /// `ex`: where it works; a compact_strand is taken as it is, over anything else it makes one.
    ///
    /// Reads the environment and the shared config file for what the options leave open.
    ///
    /// Throws boost::system::system_error when an option is invalid, no region is found, or the CA bundle or the
    /// config file cannot be read. `time` outlives the host and its calls.
    host(boost::asio::any_io_executor ex, service_name const&, client_options, host_target, clock& time);

    void close();

    quern::detail::compact_strand const strand;
    clock& time;
    client_options const options;
    net::client http;
    std::string const region;
    std::unique_ptr<service> calls;
    std::shared_ptr<credentials_provider> const own_keys; ///< null when they are the user's

private:
    struct plan;
    host(plan, host_target, clock& time);
};

/// The way to a host, and what is known of it without going there.
struct host_address : quern::detail::strand_home<host> {
    explicit host_address(std::shared_ptr<host> const& lives)
        : strand_home(lives), peer(lives->http.peer()), region(lives->region), theirs(lives->calls->theirs())
    {}

    net::endpoint const peer;
    std::string const region;
    std::shared_ptr<service_clock const> const theirs;
};

/// A call, and where its end goes. Its functions are called on the strand.
struct errand {
    std::string_view operation; ///< as the service's signer has it; it outlives the errand
    std::string body;

    virtual ~errand() = default;
    virtual call_options how(host&) = 0;
    virtual void ended(host&, result<net::response>) = 0;
};

/// Completes when the errand has its end, as service::call() has it.
///
/// Fails with    errc::stopped where the host is gone: then it has none
/// Cancellation  terminal.
boost::asio::awaitable<result<void>> carry_out(std::shared_ptr<host_address const>, std::shared_ptr<errand>);

} // namespace quern::aws::detail
