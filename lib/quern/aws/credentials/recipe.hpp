#pragma once

#include <quern/aws/config/profile.hpp>
#include <quern/aws/credentials/credentials.hpp>
#include <quern/aws/credentials/sso.hpp>
#include <quern/aws/credentials/sts.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace quern::aws {

// What credentials can begin with.

struct from_keys {
    credentials keys;
};
struct from_environment {};
struct from_container {};
struct from_instance {};
struct from_web_identity {
    role what;
    std::string token_file;
};
struct from_sso {
    sso_profile what;
};
struct from_process {
    std::string command;
    std::string account_id; ///< where the command does not say whose credentials it prints
};

using first_credentials = std::variant<from_keys, from_environment, from_container, from_instance, from_web_identity,
    from_sso, from_process>;

/// How a profile's credentials are come by.
struct recipe {
    first_credentials first;
    std::vector<role> roles; ///< then taken on one after another
};

/// Recipe for the credentials of a profile. A profile with role_arn takes on that role, with the credentials of its
/// source_profile or credential_source; a source may do so in turn, unless it has keys, which then count. A profile
/// that is its own source uses its keys. Elsewhere, of several ways in one profile the first counts: web identity,
/// SSO, keys, credential_process. Nothing when it speaks of none.
///
/// Source  AWS SDKs and tools reference guide, "Assume role credential provider" and its neighbours; botocore,
///         credentials.py
///
/// Fails with  errc::no_credentials  no such profile; part of something is missing, or does not fit together; names
///                                   profile and key, and shows no value but names of profiles and sources
[[nodiscard]] result<std::optional<recipe>> recipe_of(shared_config const&, std::string_view profile);

} // namespace quern::aws
