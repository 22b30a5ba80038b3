#include <quern/net/client.hpp>

#include <quern/core/detail/throw_wrong.hpp>
#include <quern/net/detail/host_pool.hpp>

namespace quern::net {

using namespace detail;
using namespace quern::detail;
namespace asio = boost::asio;

namespace {

route route_to(endpoint peer, client_options const& options)
{
    route out{std::move(peer), {}};
    if (options.proxy && !options.proxy->empty()) out.via = parse_proxy(*options.proxy).value();
    return out;
}

pool_rules rules_of(client_options const& options)
{
    pool_rules out;
    out.limits = {options.data_connections, options.control_connections};
    out.connect_timeout = options.connect_timeout;
    out.idle_timeout = options.idle_timeout;
    // Saturated connections are reused within milliseconds; only a rested one is worth a system call to look at.
    out.rested = std::chrono::milliseconds(500);
    out.max_header_bytes = options.max_header_bytes;
    out.max_reply_bytes = options.max_reply_bytes;
    return out;
}

std::shared_ptr<host_pool> pool_to(asio::any_io_executor ex, endpoint peer, client_options const& options)
{
    throw_wrong(options.validate());
    tls_source tls;
    if (peer.tls) tls = tls_source(std::make_shared<tls_client>(options.ca_bundle));
    return std::make_shared<host_pool>(std::move(ex), route_to(std::move(peer), options), std::string(),
        rules_of(options), std::move(tls), std::make_shared<pool_counters>());
}

asio::awaitable<result<response>> answer_or_failure(asio::awaitable<web_hook_result> work)
{
    auto end = co_await std::move(work);
    if (!end) co_return end.error().why;
    co_return std::move(*end);
}

} // namespace

std::optional<failure> client_options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (data_connections == 0) return wrong("data_connections must be at least 1");
    if (control_connections == 0) return wrong("control_connections must be at least 1");
    if (max_reply_bytes == 0) return wrong("max_reply_bytes must be at least 1");
    if (proxy && !proxy->empty()) {
        if (auto const via = parse_proxy(*proxy); !via) return via.error();
    }
    return rules_of(*this).validate();
}

client::client(asio::any_io_executor ex, endpoint peer, client_options options)
    : pool_(pool_to(std::move(ex), std::move(peer), options))
{}

client::~client()
{
    pool_->close();
}

asio::awaitable<result<response>> client::exchange(request ask)
{
    return answer_or_failure(pool_->exchange(pool_, std::move(ask)));
}

void client::close()
{
    pool_->close();
}

endpoint const& client::peer() const
{
    return pool_->way.peer;
}

client_counters client::counters() const
{
    auto const& now = *pool_->counters;
    client_counters out;
    out.connects = now.connects;
    out.requests = now.requests;
    out.replays = now.replays;
    out.resumptions = now.resumptions;
    return out;
}

asio::any_io_executor client::get_executor() const
{
    return pool_->executor;
}

} // namespace quern::net
