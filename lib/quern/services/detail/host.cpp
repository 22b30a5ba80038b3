#include <quern/services/detail/host.hpp>

#include <quern/aws/config/detail/connecting.hpp>
#include <quern/aws/config/files.hpp>
#include <quern/aws/credentials/credential_chain.hpp>
#include <quern/core/detail/strand_home.hpp>

#include <boost/asio/this_coro.hpp>

#include <utility>

namespace quern::services {

std::optional<failure> client_options::validate() const
{
    if (request_timeout.count() <= 0 || request_timeout > longest_wait)
        return failure(errc::invalid_option, "request_timeout: must be above zero, and a day at most");
    if (auto const wrong = retries.validate()) return wrong;
    return connections.validate();
}

} // namespace quern::services

namespace quern::services::detail {

namespace asio = boost::asio;

/// State that is touched on the strand only, and ends with its context.
template <class Service>
struct host<Service>::state final : lodgers::lodger {
    state(compact_strand const& on, client_options good, net::endpoint at, target how, clock& real)
        : strand(on), options(std::move(good)), http(on, std::move(at), options.connections),
          service(http, std::move(how), options.credentials, real, options.retries)
    {}

    void close()
    {
        http.close();
        service.close();
        if (own_keys) own_keys->close();
    }

    compact_strand const strand;
    client_options options;
    net::client http;
    Service service;
    std::shared_ptr<aws::credentials_provider> own_keys; ///< null when they are the user's
};

/// The way to the state, and what is known of it without going there.
template <class Service>
struct host<Service>::address : strand_home<state> {
    address(std::shared_ptr<state> const& lives, std::string in)
        : strand_home<state>(lives), peer(lives->http.peer()), region(std::move(in)), theirs(lives->service.theirs())
    {}

    net::endpoint const peer;
    std::string const region;
    std::shared_ptr<aws::service_clock const> const theirs;
};

template <class Service>
struct host<Service>::errand {
    errand(std::string o, std::string b) : operation(std::move(o)), body(std::move(b)) {}

    std::string operation, body;
};

template <class Service>
host<Service>::host(
    asio::any_io_executor ex, aws::service_name const& name, client_options options, target how, clock& time)
{
    if (auto const wrong = options.validate()) throw_exception_from_error(*wrong, BOOST_CURRENT_LOCATION);
    auto const* const given = ex.target<compact_strand>();
    auto const strand = given ? *given : compact_strand::on(std::move(ex));
    aws::environment const variables = aws::process_environment;
    auto const config = aws::load_shared_config(variables).value();
    auto const profile = aws::settings_of(config, aws::selected_profile(variables, options.profile), name);
    auto const where = aws::locate(name, options.where, variables, profile).value();
    if (where.signing_region.empty()) {
        throw_exception_from_error(
            failure(errc::invalid_option, "region: none is known; set it in the options, or AWS_REGION"),
            BOOST_CURRENT_LOCATION);
    }
    auto at = net::parse_endpoint(where.url).value();
    auto elsewhere = options.connections; // of its neighbours, to which another proxy may lead
    options.connections = aws::completed(std::move(options.connections), at, variables, profile);
    options.retries = aws::completed(options.retries, variables, profile).value();
    elsewhere.ca_bundle = options.connections.ca_bundle;
    std::shared_ptr<aws::credentials_provider> own_keys;
    if (!options.credentials) {
        aws::chain_options keys{options.profile, options.where};
        keys.where.region = where.signing_region;
        options.credentials = own_keys =
            aws::default_credentials(strand, std::move(keys), std::move(elsewhere), time);
    }
    how.region = where.signing_region;
    how.service = where.signing_name;
    auto const made = std::make_shared<state>(strand, std::move(options), std::move(at), std::move(how), time);
    made->own_keys = std::move(own_keys);
    address_ = std::make_shared<address const>(made, where.signing_region);
}

template <class Service>
host<Service>::~host()
{
    address_->close(address::purpose::move_out);
}

template <class Service>
asio::awaitable<result<reply>> host<Service>::on_strand(std::shared_ptr<address const> to, errand what)
{
    auto const ex = co_await asio::this_coro::executor;
    if (!to->is_here(ex)) {
        auto work = from_elsewhere(std::move(to), std::move(what), &host::on_strand);
        co_return co_await std::move(work);
    }
    auto const self = to->find();
    if (!self) co_return failure(errc::stopped, "the client is gone");

    std::string refused;
    aws::call_options how;
    how.timeout = self->options.request_timeout;
    how.repeatable = true;
    how.refused = &refused;
    auto said = co_await self->service.call(what.operation, std::move(what.body), how);
    if (!said && refused.empty()) co_return said.error();
    reply out;
    if (said) {
        out.said = std::move(*said);
    } else {
        out.said.body = std::move(refused);
        out.refused = said.error();
    }
    co_return out;
}

template <class Service>
asio::awaitable<result<reply>> host<Service>::call(std::string operation, std::string body) const
{
    errand what(std::move(operation), std::move(body));
    return on_strand(address_, std::move(what));
}

template <class Service>
asio::any_io_executor host<Service>::get_executor() const
{
    return address_->strand();
}

template <class Service>
void host<Service>::close() const
{
    address_->close();
}

template <class Service>
std::chrono::milliseconds host<Service>::clock_offset() const
{
    return address_->theirs->offset();
}

template <class Service>
net::endpoint const& host<Service>::endpoint() const
{
    return address_->peer;
}

template <class Service>
std::string const& host<Service>::region() const
{
    return address_->region;
}

template class host<aws::json_service>;
template class host<aws::rest_service>;

} // namespace quern::services::detail
