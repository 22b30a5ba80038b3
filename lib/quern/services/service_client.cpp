#include <quern/services/service_client.hpp>

#include <quern/services/detail/call.hpp>

#include <utility>

namespace quern::services {

service_client::service_client(std::shared_ptr<aws::detail::host_address const> host) : host_(std::move(host)) {}

service_client::~service_client()
{
    host_->close(aws::detail::host_address::purpose::move_out);
}

void service_client::close()
{
    host_->close();
}

boost::asio::any_io_executor service_client::get_executor() const
{
    return host_->strand();
}

std::chrono::milliseconds service_client::clock_offset() const
{
    return host_->theirs->offset();
}

net::endpoint const& service_client::endpoint() const
{
    return host_->peer;
}

std::string const& service_client::region() const
{
    return host_->region;
}

namespace detail {

std::shared_ptr<aws::detail::host_address const> make_host(boost::asio::any_io_executor ex,
    aws::service_name const& name, aws::client_options options, aws::detail::host_target how, clock& time)
{
    auto const lives =
        std::make_shared<aws::detail::host>(std::move(ex), name, std::move(options), std::move(how), time);
    return std::make_shared<aws::detail::host_address const>(lives);
}

aws::detail::call_options errand::how(aws::detail::host& in)
{
    aws::detail::call_options out;
    out.timeout = in.options.request_timeout;
    out.repeatable = true;
    out.refused = &refused;
    return out;
}

void errand::ended(aws::detail::host&, result<net::response> said)
{
    if (!said && refused.empty()) {
        end = said.error();
        return;
    }
    reply out;
    if (said) {
        out.said = std::move(*said);
    } else {
        out.said.body = std::move(refused);
        out.refused = said.error();
    }
    end = std::move(out);
}

} // namespace detail
} // namespace quern::services
