#pragma once

#include <quern/net/endpoint.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace quern::aws::detail {
struct host_address;
}

namespace quern::services {

/// Common part of the clients of this layer. Destroying one ends the operations under way with errc::stopped.
///
/// Retries     as the AWS SDKs have them (aws::retry_options), also of a call whose answer never came: it may have
///             been carried out twice.
/// Fails with  errc::service_error, throttled  the service said so, after the last attempt
///             errc::no_credentials            there is nothing to sign with
///             errc::timed_out                 no answer, or no credentials, in the time of an attempt
///             errc::connect_failed, tls_failed, connection_lost, bad_reply, reply_too_large  after the last attempt
///             errc::stopped                   cancelled, or closed
/// Threads   any, for every call and for destruction. It works on a strand of its own.
class service_client {
public:
    service_client(service_client const&) = delete;
    service_client& operator=(service_client const&) = delete;

    /// Ends every operation under way with errc::stopped and closes all connections.
    void close();

    /// The client's strand; none once its context has ended.
    boost::asio::any_io_executor get_executor() const;

    /// Taken from the Date headers of the answers, once a minute; within a second of ours it is zero.
    std::chrono::milliseconds clock_offset() const;

    net::endpoint const& endpoint() const;
    std::string const& region() const;

protected:
    explicit service_client(std::shared_ptr<aws::detail::host_address const>);
    ~service_client();

    std::shared_ptr<aws::detail::host_address const> const host_;
};

} // namespace quern::services
