#pragma once

#include <quern/aws/detail/host.hpp>
#include <quern/core/error.hpp>

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace quern::services::detail {

/// Throws as aws::detail::host does.
std::shared_ptr<aws::detail::host_address const> make_host(boost::asio::any_io_executor, aws::service_name const&,
    aws::client_options, aws::detail::host_target, clock& time);

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

/// A call to a service; of one that it refused, the body is kept.
struct errand final : aws::detail::errand {
    errand(std::string o, std::string what) : name(std::move(o))
    {
        operation = name;
        body = std::move(what);
    }

    aws::detail::call_options how(aws::detail::host&) override;
    void ended(aws::detail::host&, result<net::response>) override;

    std::string const name;
    std::string refused;
    result<reply> end = failure(errc::stopped, "the client is gone");
};

/// Completes with decode(reply), a result, once the service has answered in the end, tried as
/// aws::detail::service::call() does.
///
/// Fails with    as that does, where no answer came, and errc::stopped when the client or its context is gone
/// Cancellation  terminal.
template <class Decode>
auto call(std::shared_ptr<aws::detail::host_address const> to, std::string operation, std::string body, Decode decode)
    -> boost::asio::awaitable<decltype(decode(std::declval<reply const&>()))>
{
    auto const one = std::make_shared<errand>(std::move(operation), std::move(body));
    auto work = aws::detail::carry_out(std::move(to), one);
    auto const arrived = co_await std::move(work);
    if (!arrived) co_return arrived.error();
    if (!one->end) co_return one->end.error();
    co_return decode(*one->end);
}

} // namespace quern::services::detail
