#include <quern/aws/credentials/recipe.hpp>

#include <algorithm>
#include <array>

namespace quern::aws {
namespace {

using maybe_first = std::optional<first_credentials>;

/// Keys by any of which a profile means IAM Identity Center.
constexpr std::array sso_keys{"sso_session", "sso_start_url", "sso_account_id", "sso_role_name"};

class planner {
public:
    explicit planner(shared_config const& config) : config_(config) {}

    result<std::optional<recipe>> plan(std::string name)
    {
        recipe out;
        for (std::string reference = "the profile";; reference = "source_profile of \"" + seen_.back() + '"') {
            auto const* const profile = config_.profile(name);
            if (!profile) return wrong(reference + " \"" + name + "\" is not in the config or credentials file");
            if (std::ranges::find(seen_, name) != seen_.end()) {
                return about(name, "source_profile leads back to it: a loop");
            }
            seen_.push_back(name);
            bool const is_source = seen_.size() > 1;
            bool const takes_role = profile->has("role_arn") && !profile->has("web_identity_token_file") &&
                !(is_source && has_keys(*profile));
            if (!takes_role)
                return finish(std::move(out), is_source ? keys_or_way(*profile) : way(*profile), is_source);

            auto what = role_in(*profile);
            if (!what) return what.error();
            out.roles.push_back(std::move(*what));
            auto const source = profile->get("source_profile");
            auto const named = profile->get("credential_source");
            if (source.empty() == named.empty()) {
                return about(name, "role_arn needs either source_profile or credential_source, and not both");
            }
            if (!named.empty()) return finish(std::move(out), credential_source(named), true);
            if (source == name) return finish(std::move(out), keys(*profile), true);
            name = source;
        }
    }

private:
    static failure wrong(std::string why) { return failure(errc::no_credentials, std::move(why)); }
    static failure about(std::string const& profile, std::string const& why)
    {
        return wrong("profile \"" + profile + "\": " + why);
    }
    failure here(std::string const& why) const { return about(seen_.back(), why); }

    result<std::optional<recipe>> finish(recipe out, result<maybe_first> first, bool is_needed) const
    {
        if (!first) return first.error();
        if (!*first && is_needed) return here("holds no credentials");
        if (!*first) return std::optional<recipe>();
        out.first = std::move(**first);
        std::ranges::reverse(out.roles);
        return std::optional(std::move(out));
    }

    static bool has_keys(section const& profile)
    {
        return profile.has("aws_access_key_id") || profile.has("aws_secret_access_key");
    }

    result<maybe_first> keys(section const& profile) const
    {
        credentials out{
            profile.get("aws_access_key_id"), profile.get("aws_secret_access_key"), profile.get("aws_session_token")};
        if (out.session_token.empty()) out.session_token = profile.get("aws_security_token");
        out.account_id = profile.get("aws_account_id");
        for (auto const* const name : {"aws_access_key_id", "aws_secret_access_key"}) {
            if (profile.get(name).empty()) return here(std::string(name) + " is missing");
        }
        if (auto const flaw = flaw_of(out)) return here(*flaw);
        return maybe_first(from_keys{std::move(out)});
    }

    result<maybe_first> keys_or_way(section const& profile) const
    {
        return has_keys(profile) ? keys(profile) : way(profile);
    }

    result<maybe_first> way(section const& profile) const
    {
        if (auto const file = profile.get("web_identity_token_file"); !file.empty()) {
            auto what = role_in(profile);
            if (!what) return what.error();
            return maybe_first(from_web_identity{std::move(*what), file});
        }
        auto const has = [&](char const* key) { return profile.has(key); };
        if (std::ranges::any_of(sso_keys, has)) return sso(profile);
        if (has_keys(profile)) return keys(profile);
        if (auto const command = profile.get("credential_process"); !command.empty()) {
            return maybe_first(from_process{command, profile.get("aws_account_id")});
        }
        if (profile.has("login_session")) {
            return here("login_session is not supported: have `aws configure export-credentials --profile " +
                seen_.back() + "` as the credential_process of another profile");
        }
        return maybe_first();
    }

    result<role> role_in(section const& profile) const
    {
        role out{profile.get("role_arn"), profile.get("role_session_name"), profile.get("external_id"),
            profile.get("duration_seconds")};
        if (out.arn.empty()) return here("role_arn is missing");
        if (profile.has("mfa_serial")) {
            return here("mfa_serial asks for a code, and nobody is here to give it: have `aws configure "
                        "export-credentials` as a credential_process");
        }
        auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
        if (!std::ranges::all_of(out.duration_seconds, is_digit)) {
            return here("duration_seconds must be a whole number");
        }
        return out;
    }

    result<maybe_first> credential_source(std::string const& named) const
    {
        if (named == "Environment") return maybe_first(from_environment());
        if (named == "EcsContainer") return maybe_first(from_container());
        if (named == "Ec2InstanceMetadata") return maybe_first(from_instance());
        return here("credential_source \"" + named + "\" is none of Environment, EcsContainer, Ec2InstanceMetadata");
    }

    result<maybe_first> sso(section const& profile) const
    {
        sso_profile out{profile.get("sso_session"), profile.get("sso_start_url"), profile.get("sso_region"),
            profile.get("sso_account_id"), profile.get("sso_role_name")};
        if (!out.session.empty()) {
            auto const* const session = config_.sso_session(out.session);
            if (!session) return here("there is no [sso-session " + out.session + ']');
            for (auto const& [key, value] :
                {std::pair("sso_start_url", &out.start_url), {"sso_region", &out.region}}) {
                auto const of_session = session->get(key);
                if (of_session.empty())
                    return here(std::string(key) + " is missing in [sso-session " + out.session + ']');
                if (!value->empty() && *value != of_session) {
                    return here(std::string(key) + " differs from that of [sso-session " + out.session + ']');
                }
                *value = of_session;
            }
        } else if (out.start_url.empty() || out.region.empty()) {
            return here("sso_start_url and sso_region, or an sso_session, are missing");
        }
        bool const is_for_a_token = !out.session.empty() && out.account_id.empty() && out.role_name.empty();
        if (is_for_a_token) return maybe_first(from_sso{std::move(out)});
        if (out.account_id.empty()) return here("sso_account_id is missing");
        if (out.role_name.empty()) return here("sso_role_name is missing");
        return maybe_first(from_sso{std::move(out)});
    }

    shared_config const& config_;
    std::vector<std::string> seen_;
};

} // namespace

result<std::optional<recipe>> recipe_of(shared_config const& config, std::string_view profile)
{
    return planner(config).plan(std::string(profile));
}

} // namespace quern::aws
