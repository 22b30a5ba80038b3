#pragma once

#include <quern/aws/config/endpoint_rules.hpp>
#include <quern/aws/detail/call.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/services/client_options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace quern::services::detail {

/// Answer of a service, be it a refusal.
struct reply {
    net::response said{};             ///< of a refusal: its body
    std::optional<failure> refused{}; ///< what the service ended the call with
};

/// decode(said), a result. Its failure names status and request.
template <class Decode>
auto read(reply const& end, Decode decode) -> decltype(decode(end.said))
{
    if (end.refused) return *end.refused;
    auto out = decode(end.said);
    if (out) return out;
    auto why = out.error();
    why.http_status = end.said.status;
    why.request_id = end.said.fields.find("x-amzn-requestid");
    return why;
}

/// Common part of all clients of this layer: an endpoint, keys, connections, and a strand on which they work. The
/// operations of one are words to it.
///
/// Threads   any, for every call and for destruction.
/// Lifetime  any order: destroying it ends the calls under way with errc::stopped.
template <class Service>
class host {
public:
    using target = typename Service::target;

    /// `how`: what the service wants besides its region.
    ///
    /// Throws boost::system::system_error when an option is invalid, no region is found, or the CA bundle or the
    /// config file cannot be read. `time` outlives the host and its calls.
    host(boost::asio::any_io_executor, aws::service_name const&, client_options, target how, clock& time);
    ~host();
    host(host const&) = delete;
    host& operator=(host const&) = delete;

    /// Completes with what the service answered in the end, tried as aws::signed_service::call() does.
    ///
    /// Fails with    as that does, where no answer came, and errc::stopped when the client or its context is gone
    /// Cancellation  terminal.
    boost::asio::awaitable<result<reply>> call(std::string operation, std::string body) const;

    boost::asio::any_io_executor get_executor() const;
    void close() const;
    std::chrono::milliseconds clock_offset() const;
    net::endpoint const& endpoint() const;
    std::string const& region() const;

private:
    struct state;
    struct address;
    struct errand;

    static boost::asio::awaitable<result<reply>> on_strand(std::shared_ptr<address const>, errand);

    std::shared_ptr<address const> address_;
};

extern template class host<aws::json_service>;
extern template class host<aws::rest_service>;

} // namespace quern::services::detail
