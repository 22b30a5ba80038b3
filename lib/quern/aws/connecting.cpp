#include <quern/aws/connecting.hpp>

#include <quern/net/proxy.hpp>

namespace quern::aws {

net::client_options completed(
    net::client_options options, net::endpoint const& to, environment const& env, profile_settings const& profile)
{
    if (options.ca_bundle.empty()) options.ca_bundle = env("AWS_CA_BUNDLE");
    if (options.ca_bundle.empty()) options.ca_bundle = profile.ca_bundle;
    if (!options.proxy) options.proxy = net::proxy_for(to, env);
    return options;
}

} // namespace quern::aws
