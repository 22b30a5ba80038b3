#include <quern/aws/config/detail/connecting.hpp>
#include <quern/aws/credentials/credential_chain.hpp>
#include <quern/aws/credentials/detail/container_credentials.hpp>
#include <quern/aws/credentials/detail/credential_process.hpp>
#include <quern/core/detail/random_part.hpp>

namespace quern::aws {

using namespace detail;

using boost::asio::awaitable;

namespace {

bool is_set(std::string const& value)
{
    return value.find_first_not_of(" \t") != value.npos;
}

std::string plainly(failure const& why)
{
    return why.code == make_error_code(errc::no_credentials) ? why.message : describe(why);
}

/// Adds the name of the place to a failure: the error of a call to SQS has to say that it is not about SQS.
result<credentials> at(std::string const& place, result<credentials> got)
{
    auto const is = [&](errc code) { return got.error().code == make_error_code(code); };
    if (got || is(errc::stopped) || is(errc::no_credentials)) return got;
    return failure(errc::no_credentials, place + ": " + describe(got.error()), got.error().retryable);
}

/// One search. What it has found: credentials, a failure that ends it, or nothing, which is noted.
class search {
public:
    search(surroundings const& around, chain_options const& options, double jitter)
        : around_(around), options_(options), jitter_(jitter)
    {}

    using finding = std::optional<result<credentials>>;

    awaitable<result<credentials>> everywhere()
    {
        bool const is_chosen = !options_.profile.empty();
        if (!is_chosen && is_set(around_.variable("AWS_ACCESS_KEY_ID"))) co_return credentials_from(around_.variable);
        if (!is_chosen) nothing("the environment", "AWS_ACCESS_KEY_ID is not set");

        auto found = co_await configured(is_chosen);
        if (!found) found = co_await container();
        if (!found) found = co_await instance();
        if (found) co_return std::move(*found);
        co_return failure(errc::no_credentials,
            "looked at " + looked_ +
                ": set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, sign in with `aws configure` or `aws sso login`, "
                "name a profile with AWS_PROFILE, or give this machine a role",
            may_come_);
    }

private:
    void nothing(std::string const& where, std::string const& why)
    {
        looked_ += (looked_.empty() ? "" : ", ") + where + " (" + why + ')';
    }

    awaitable<finding> configured(bool is_chosen)
    {
        auto read = load_shared_config(around_.variable, around_.files);
        if (!read) co_return read.error();
        config_ = std::move(*read);
        name_ = selected_profile(around_.variable, options_.profile);
        bool const is_named = !selected_profile(around_.variable, options_.profile, "").empty();
        finding found;
        if (is_named) found = co_await profile();
        if (!found && !is_chosen) found = co_await web_identity();
        if (!found && !is_named) found = co_await profile();
        co_return found;
    }

    awaitable<finding> profile()
    {
        auto const files = locate_shared_files(around_.variable);
        bool const is_absent = options_.profile.empty() && name_ == "default" && !config_.profile(name_);
        auto how = is_absent ? result<std::optional<recipe>>(std::optional<recipe>()) : recipe_of(config_, name_);
        if (!how) co_return how.error();
        if (*how) co_return co_await carry_out(std::move(**how));
        nothing("the profile \"" + name_ + "\" of " + files.config + " and " + files.credentials,
            is_absent ? "there is none" : "it holds no credentials");
        co_return finding();
    }

    awaitable<finding> web_identity()
    {
        from_web_identity how;
        how.token_file = around_.variable("AWS_WEB_IDENTITY_TOKEN_FILE");
        how.what.arn = around_.variable("AWS_ROLE_ARN");
        how.what.session_name = around_.variable("AWS_ROLE_SESSION_NAME");
        if (is_set(how.token_file) && is_set(how.what.arn)) co_return co_await begin(std::move(how));
        if (is_set(how.token_file)) {
            co_return failure(errc::no_credentials,
                "AWS_WEB_IDENTITY_TOKEN_FILE is set but AWS_ROLE_ARN is not: set both, or unset both");
        }
        nothing("web identity", "AWS_WEB_IDENTITY_TOKEN_FILE is not set");
        co_return finding();
    }

    awaitable<finding> container()
    {
        auto url = container_url(around_.variable);
        if (!url) co_return url.error();
        if (*url) co_return co_await at_container(std::move(**url));
        nothing("the container", "neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor .._FULL_URI is set");
        co_return finding();
    }

    /// The last place: nobody need have meant it.
    awaitable<finding> instance()
    {
        auto const found = co_await at_instance();
        if (found || found.error().code == make_error_code(errc::stopped)) co_return found;
        may_come_ = found.error().retryable;
        nothing("the instance", plainly(found.error()));
        co_return finding();
    }

    awaitable<result<credentials>> carry_out(recipe how)
    {
        auto const begin_with = [this](auto& first) { return begin(std::move(first)); };
        auto begun = co_await std::visit(begin_with, how.first);
        if (!begun || how.roles.empty()) co_return begun;
        auto const sts = place(sts_service);
        if (!sts) co_return sts.error();
        for (auto const& next : how.roles) {
            auto taken = co_await assume_role(around_, *sts, next, std::move(*begun));
            begun = at("the role " + next.arn, std::move(taken));
            if (!begun) break;
        }
        co_return begun;
    }

    result<regional_endpoint> place(service_name const& service, std::string region = {}) const
    {
        auto choice = options_.where;
        choice.url.clear();
        if (!region.empty()) choice.region = std::move(region);
        auto where = locate(service, std::move(choice), around_.variable, settings_of(config_, name_, service));
        if (where) return where;
        auto why = where.error(); // a copy: that is all a result gives
        why.message.insert(0, std::string(service.id) + ": ");
        return why;
    }

    awaitable<result<credentials>> begin(from_keys how) { co_return std::move(how.keys); }

    awaitable<result<credentials>> begin(from_environment) { co_return credentials_from(around_.variable); }

    awaitable<result<credentials>> begin(from_container)
    {
        auto url = container_url(around_.variable);
        if (!url) co_return url.error();
        if (*url) co_return co_await at_container(std::move(**url));
        co_return failure(errc::no_credentials,
            "credential_source EcsContainer: neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor "
            "AWS_CONTAINER_CREDENTIALS_FULL_URI is set");
    }

    awaitable<result<credentials>> at_container(std::string url)
    {
        auto found = co_await container_credentials(around_, std::move(url));
        co_return at("the container's endpoint", std::move(found));
    }

    awaitable<result<credentials>> begin(from_instance)
    {
        auto found = co_await at_instance();
        if (!found && found.error().code != make_error_code(errc::stopped)) {
            co_return failure(errc::no_credentials,
                "credential_source Ec2InstanceMetadata: " + plainly(found.error()), found.error().retryable);
        }
        co_return found;
    }

    awaitable<result<credentials>> at_instance()
    {
        auto const service = find_instance_service(around_.variable, config_.profile(name_), options_.instance);
        if (!service) co_return service.error();
        if (*service) co_return co_await instance_credentials(around_, **service, jitter_);
        co_return failure(errc::no_credentials, "switched off by AWS_EC2_METADATA_DISABLED");
    }

    awaitable<result<credentials>> begin(from_web_identity how)
    {
        auto const sts = place(sts_service);
        if (!sts) co_return sts.error();
        auto const place = "the role " + how.what.arn;
        auto found =
            co_await assume_role_with_web_identity(around_, *sts, std::move(how.what), std::move(how.token_file));
        co_return at(place, std::move(found));
    }

    awaitable<result<credentials>> begin(from_sso how)
    {
        auto const portal = place(sso_service, how.what.region);
        if (!portal) co_return portal.error();
        auto const oidc = place(sso_oidc_service, how.what.region);
        if (!oidc) co_return oidc.error();
        auto found = co_await sso_credentials(around_, *portal, *oidc, std::move(how.what));
        co_return at("SSO", std::move(found));
    }

    awaitable<result<credentials>> begin(from_process how)
    {
        auto whose = "credential_process of the profile \"" + name_ + '"';
        auto found = co_await process_credentials(std::move(how.command), std::move(whose));
        if (found && found->account_id.empty()) found->account_id = how.account_id;
        co_return found;
    }

    surroundings const& around_;
    chain_options const& options_;
    double const jitter_;
    shared_config config_;
    std::string name_; ///< of the profile that is selected
    std::string looked_;
    bool may_come_ = false; ///< where nothing was found now, there may be something later
};

/// Owns the network that the chain uses.
class real_chain final : public credentials_source {
public:
    real_chain(std::unique_ptr<web> http, chain_options options, clock& time, std::function<double()> jitter)
        : http_(std::move(http)),
          chain_(surroundings{*http_, process_environment, real_files(), time}, std::move(options), std::move(jitter))
    {}

    awaitable<result<credentials>> load() override { return chain_.load(); }

private:
    std::unique_ptr<web> http_;
    credential_chain chain_;
};

} // namespace

credential_chain::credential_chain(surroundings around, chain_options options, std::function<double()> jitter)
    : around_(std::move(around)), options_(std::move(options)), jitter_(std::move(jitter))
{}

awaitable<result<credentials>> credential_chain::load()
{
    search one(around_, options_, jitter_());
    co_return co_await one.everywhere();
}

std::shared_ptr<credentials_provider> default_credentials(
    boost::asio::any_io_executor ex, chain_options options, net::client_options connections, clock& time)
{
    environment const variable = process_environment;
    profile_settings settings; // of files that cannot be read, the search says why
    if (auto const config = load_shared_config(variable))
        settings = settings_of(*config, selected_profile(variable, options.profile), sts_service);
    connections.ca_bundle = chosen_ca_bundle(std::move(connections.ca_bundle), variable, settings);
    auto http = real_web(ex, std::move(connections));
    auto chain = std::make_unique<real_chain>(std::move(http), std::move(options), time, quern::detail::random_part);
    return cached_credentials(std::move(ex), std::move(chain), time, quern::detail::random_part);
}

} // namespace quern::aws
