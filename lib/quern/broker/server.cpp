#include <quern/broker/server.hpp>

#include <quern/broker/detail/server_core.hpp>
#include <quern/broker/detail/server_tls.hpp>
#include <quern/core/detail/throw_wrong.hpp>

namespace quern::broker {

using namespace detail;
using namespace quern::detail;
namespace asio = boost::asio;

namespace {

/// Throws the first setting that cannot work.
server_options checked(server_options options)
{
    throw_wrong(options.validate());
    return options;
}

} // namespace

std::optional<failure> server_options::validate() const
{
    auto const refuse = [](std::string_view why) { return failure(errc::invalid_option, std::string(why)); };

    boost::system::error_code ec;
    asio::ip::make_address(host, ec);
    if (ec) return refuse("server_options.host: '" + host + "' is no IP address");
    if (check_signatures && keys.empty())
        return refuse("server_options.keys: nobody could sign; name at least one key");
    for (auto const& key : keys) {
        if (key.access_key_id.empty() || key.secret_access_key.empty())
            return refuse("server_options.keys: a key needs an id and a secret");
    }
    for (auto const& [key, account] : accounts) {
        if (account.size() != 12 || account.find_first_not_of("0123456789") != account.npos)
            return refuse("server_options.accounts: \"" + account + "\" is no account, which has 12 digits");
    }
    for (auto const& one : cors) {
        if (!is_origin(one))
            return refuse("server_options.cors: \"" + one + "\" is no origin, such as http://localhost:5173, nor *");
    }
    if (clock_skew < std::chrono::seconds(1)) return refuse("server_options.clock_skew: must be at least a second");
    if (auto const tls = server_tls(*this); !tls) return tls.error();
    if (max_header_bytes < 1024) return refuse("server_options.max_header_bytes: must be at least 1024");
    if (max_header_bytes > 1024 * 1024) return refuse("server_options.max_header_bytes: must be at most 1 MiB");
    std::pair<char const*, std::chrono::milliseconds> const timeouts[] = {{"handshake_timeout", handshake_timeout},
        {"header_timeout", header_timeout}, {"body_timeout", body_timeout}, {"idle_timeout", idle_timeout}};
    for (auto const& [name, value] : timeouts) {
        if (value.count() < 1 || value > longest_wait)
            return refuse("server_options." + std::string(name) + ": must be from a millisecond to a day");
    }
    if (max_connections < 1) return refuse("server_options.max_connections: must be at least 1");
    if (max_unproven_bytes < 1024) return refuse("server_options.max_unproven_bytes: must be at least 1024");
    if (max_body_bytes < 1024) return refuse("server_options.max_body_bytes: must be at least 1024");
    return {};
}

server::server(asio::any_io_executor ex, server_options options, engine_options queues, clock& time)
    : core_(std::make_shared<server_core>(std::move(ex), checked(std::move(options)), std::move(queues), time))
{}

server::~server()
{
    core_->shut();
}

result<void> server::listen()
{
    return core_->listen();
}
std::uint16_t server::port() const
{
    return core_->port();
}
std::string server::url() const
{
    return core_->base;
}
asio::awaitable<void> server::stop(std::chrono::milliseconds limit)
{
    return core_->stop(limit);
}
engine& server::queues()
{
    return core_->broker.queues();
}
instant server::now() const
{
    return core_->now();
}
void server::settle()
{
    core_->settle();
}
asio::any_io_executor server::get_executor() const
{
    return core_->get_executor();
}

server_counters server::counters() const
{
    return core_->all_counters();
}
std::string server::metrics()
{
    return core_->metrics();
}
bool server::stopping() const
{
    return core_->stopping();
}

} // namespace quern::broker
