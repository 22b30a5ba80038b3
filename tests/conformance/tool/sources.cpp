#include "suites.hpp"

#include <quern/aws/credentials/detail/container_credentials.hpp>
#include <quern/aws/credentials/instance_metadata.hpp>
#include <quern/aws/credentials/recipe.hpp>

#include <boost/json.hpp>

namespace quern::conformance {
namespace {

aws::sections sections_in(json::value const& input, std::string_view member)
{
    aws::sections out;
    auto const* const named = find(input, member);
    if (!named) return out;
    for (auto const& [name, properties] : named->as_object()) {
        for (auto const& [key, value] : properties.as_object())
            out[name].values[key] = value.as_string();
        out[name];
    }
    return out;
}

json::object filled(std::initializer_list<std::pair<char const*, std::string>> members)
{
    json::object out;
    for (auto const& [name, value] : members) {
        if (!value.empty()) out[name] = value;
    }
    return out;
}

json::object step(char const* name, json::value what)
{
    return json::object{{name, std::move(what)}};
}

struct first_step {
    json::value operator()(aws::from_keys const& s) const
    {
        return step("AccessKey",
            filled({{"access_key_id", s.keys.access_key_id}, {"secret_access_key", s.keys.secret_access_key},
                {"session_token", s.keys.session_token}, {"account_id", s.keys.account_id}}));
    }
    json::value operator()(aws::from_environment) const { return step("NamedSource", "Environment"); }
    json::value operator()(aws::from_container) const { return step("NamedSource", "EcsContainer"); }
    json::value operator()(aws::from_instance) const { return step("NamedSource", "Ec2InstanceMetadata"); }
    json::value operator()(aws::from_web_identity const& s) const
    {
        return step("WebIdentityToken",
            filled({{"role_arn", s.what.arn}, {"web_identity_token_file", s.token_file},
                {"role_session_name", s.what.session_name}}));
    }
    json::value operator()(aws::from_sso const& s) const
    {
        return step("Sso",
            filled(
                {{"sso_session", s.what.session}, {"sso_region", s.what.region}, {"sso_start_url", s.what.start_url},
                    {"sso_account_id", s.what.account_id}, {"sso_role_name", s.what.role_name}}));
    }
    json::value operator()(aws::from_process const& s) const
    {
        return step("CredentialProcess", json::string(s.command));
    }
};

json::value steps(aws::recipe const& how)
{
    json::array out{std::visit(first_step(), how.first)};
    for (auto const& next : how.roles) {
        out.push_back(step("AssumeRole",
            filled({{"role_arn", next.arn}, {"external_id", next.external_id},
                {"role_session_name", next.session_name}})));
    }
    return out;
}

/// {"Ok": …}, or {"Err": …} in one of its names.
template <class T>
void check(json::value const& each, result<T> const& found, std::string const& value, checked_case& out)
{
    auto const& expected = part(each, "result");
    if (find(expected, "Ok"))
        out.equal("url", text_at(expected, "Ok"), found ? value : found.error().message);
    else if (found && !value.empty())
        out.fail("found " + value + "; expected the error " + json::serialize(expected));
}

} // namespace

void run_assume_role(fs::path const& path, report& results)
{
    for (auto const& file : json_files(path)) {
        auto const cases = read_json(file);
        if (!cases.is_array()) throw std::runtime_error(file.string() + " is not a list of cases");
        for (auto const& each : cases.as_array()) {
            checked_case out(results, text_at(each, "docs"));
            auto const& input = part(each, "input");
            auto const& expected = part(each, "output");
            aws::shared_config config;
            config.profiles = sections_in(input, find(input, "profiles") ? "profiles" : "profile");
            config.sso_sessions = sections_in(input, "sso_sessions");
            auto const how = aws::recipe_of(config, text_at(input, "selected_profile"));
            bool const found = how && *how;
            if (auto const* const chain = find(expected, "ProfileChain")) {
                auto const actual = found ? steps(**how) : json::value(how ? "nothing" : how.error().message);
                if (actual != *chain) out.equal("chain", json::serialize(*chain), json::serialize(actual));
            } else if (found) {
                out.fail("accepted; expected the error \"" + text_at(expected, "Error") + '"');
            }
        }
    }
}

void run_ecs(fs::path const& path, report& results)
{
    for (auto const& file : json_files(path)) {
        for (auto const& each : list_at(read_json(file), "tests")) {
            checked_case out(results, text_at(each, "docs"));
            auto const variable = [&](char const* of) { return text_at(part(each, "env"), of); };
            auto const found = aws::detail::container_url(variable);
            check(each, found, found ? found->value_or("") : "", out);
        }
    }
}

void run_imds(fs::path const& path, report& results)
{
    for (auto const& file : json_files(path)) {
        for (auto const& each : list_at(read_json(file), "tests")) {
            checked_case out(results, text_at(each, "docs"));
            auto const variable = [&](char const* of) { return text_at(part(each, "env"), of); };
            auto const at = aws::locate_shared_files(variable);
            auto const config = aws::parse_shared_config({at.config, text_at(part(each, "fs"), at.config)},
                {at.credentials, text_at(part(each, "fs"), at.credentials)});
            if (!config) {
                out.fail(config.error().message);
                continue;
            }
            aws::instance_choice choice;
            choice.endpoint = text_at(each, "endpoint_override");
            choice.endpoint_mode = text_at(each, "mode_override");
            auto const* const profile = config->profile(aws::selected_profile(variable));
            auto const found = aws::find_instance_service(variable, profile, choice);
            check(each, found, found && *found ? (**found).url + "/latest/api/token" : "", out);
        }
    }
}

} // namespace quern::conformance
