#include <quern/aws/detail/host.hpp>

#include <quern/aws/config/detail/connecting.hpp>
#include <quern/aws/config/files.hpp>
#include <quern/aws/credentials/credential_chain.hpp>
#include <quern/aws/detail/user_agent.hpp>
#include <quern/core/detail/throw_wrong.hpp>

#include <boost/asio/this_coro.hpp>

#include <type_traits>
#include <utility>

namespace quern::aws::detail {

using namespace quern::detail;
namespace asio = boost::asio;

namespace {

compact_strand strand_on(asio::any_io_executor ex)
{
    auto const* const given = ex.target<compact_strand>();
    return given ? *given : compact_strand::on(std::move(ex));
}

} // namespace

/// Everything that is settled before there are connections.
struct host::plan {
    plan(asio::any_io_executor ex, service_name const& name, client_options given, clock& time)
        : strand(strand_on(std::move(ex))), options(std::move(given))
    {
        throw_wrong(options.validate());
        environment const variables = process_environment;
        auto const config = load_shared_config(variables).value();
        auto const profile = settings_of(config, selected_profile(variables, options.profile), name);
        agent = user_agent(application_id(variables, config.profile(selected_profile(variables, options.profile))));
        auto parameters = settled(name, options.where, variables, profile);
        if (parameters.region.empty()) parameters.url.clear(); // a signature needs one, wherever it is sent
        where = endpoint_for(name, parameters).value();
        at = net::parse_endpoint(where.url).value();
        auto elsewhere = options.connections; // of its neighbours, to which another proxy may lead
        options.connections = completed(std::move(options.connections), at, variables, profile);
        options.retries = completed(options.retries, variables, profile).value();
        elsewhere.ca_bundle = options.connections.ca_bundle;
        if (options.credentials) return;
        chain_options keys{options.profile, options.where};
        keys.where.region = where.signing_region;
        keys.where.queue_url.clear();
        options.credentials = own_keys = default_credentials(strand, std::move(keys), std::move(elsewhere), time);
    }

    compact_strand strand;
    client_options options;
    regional_endpoint where;
    net::endpoint at;
    std::string agent;
    std::shared_ptr<credentials_provider> own_keys;
};

host::host(asio::any_io_executor ex, service_name const& name, client_options given, host_target how, clock& real)
    : host(plan(std::move(ex), name, std::move(given), real), std::move(how), real)
{}

host::host(plan p, host_target how, clock& real)
    : strand(p.strand), time(real), options(std::move(p.options)), http(strand, std::move(p.at), options.connections),
      region(p.where.signing_region), own_keys(std::move(p.own_keys))
{
    auto const make = [&](auto& target) -> std::unique_ptr<service> {
        constexpr bool is_json = std::is_same_v<decltype(target), json_target&>;
        using made = std::conditional_t<is_json, json_service, rest_service>;
        target.region = region;
        target.service = p.where.signing_name;
        target.user_agent = p.agent;
        return std::make_unique<made>(http, std::move(target), options.credentials, time, options.retries);
    };
    calls = std::visit(make, how);
}

void host::close()
{
    http.close();
    calls->close();
    if (own_keys) own_keys->close();
}

asio::awaitable<result<void>> carry_out(std::shared_ptr<host_address const> to, std::shared_ptr<errand> one)
{
    auto const ex = co_await asio::this_coro::executor;
    if (!to->is_here(ex)) {
        auto work = from_elsewhere(std::move(to), std::move(one), &carry_out);
        co_return co_await std::move(work);
    }
    auto const self = to->find();
    if (!self) co_return failure(errc::stopped, "the client is gone");
    auto const how = one->how(*self);
    auto said = co_await self->calls->call(one->operation, std::move(one->body), how);
    one->ended(*self, std::move(said));
    co_return result<void>();
}

} // namespace quern::aws::detail

namespace quern::aws {

std::optional<failure> client_options::validate() const
{
    if (request_timeout.count() <= 0 || request_timeout > longest_wait)
        return failure(errc::invalid_option, "request_timeout: must be above zero, and a day at most");
    if (auto const wrong = retries.validate()) return wrong;
    return connections.validate();
}

} // namespace quern::aws
