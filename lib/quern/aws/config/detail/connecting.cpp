#include <quern/aws/config/detail/connecting.hpp>

#include <quern/core/detail/text/reading.hpp>
#include <quern/net/detail/proxy.hpp>

namespace quern::aws::detail {

using namespace quern::detail;

std::string chosen_ca_bundle(std::string of_program, environment const& env, profile_settings const& profile)
{
    if (of_program.empty()) of_program = env("AWS_CA_BUNDLE");
    return of_program.empty() ? profile.ca_bundle : of_program;
}

net::client_options completed(
    net::client_options options, net::endpoint const& to, environment const& env, profile_settings const& profile)
{
    options.ca_bundle = chosen_ca_bundle(std::move(options.ca_bundle), env, profile);
    if (!options.proxy) options.proxy = net::detail::proxy_for(to, env);
    return options;
}

result<retry_options> completed(retry_options options, environment const& env, profile_settings const& profile)
{
    if (options.max_attempts) return options;
    auto const variable = env("AWS_MAX_ATTEMPTS");
    auto const& text = variable.empty() ? profile.max_attempts : variable;
    if (text.empty()) return options;
    auto const attempts = text::number_in<int>(text).value_or(0);
    if (attempts < 1) {
        return failure(errc::invalid_option,
            (variable.empty() ? "max_attempts of the profile" : "AWS_MAX_ATTEMPTS") +
                std::string(": \"" + text + "\" is no number of attempts, 1 or more"));
    }
    options.max_attempts = attempts;
    return options;
}

} // namespace quern::aws::detail
