#pragma once

#include <quern/aws/config/environment.hpp>
#include <quern/aws/config/files.hpp>
#include <quern/core/error.hpp>

#include <map>
#include <string>
#include <string_view>

namespace quern::aws {

/// Entries of a section of a configuration file. Names are in lower case.
struct section {
    std::map<std::string, std::string, std::less<>> values;

    /// Empty when it says nothing.
    std::string get(std::string_view name) const
    {
        auto const at = values.find(name);
        return at == values.end() ? std::string() : at->second;
    }
    bool has(std::string_view name) const { return values.find(name) != values.end(); }
};

using sections = std::map<std::string, section, std::less<>>;

/// The config and the credentials file that AWS' tools share, as one.
struct shared_config {
    sections profiles;     ///< [profile NAME] and [default] of the config file, [NAME] of the credentials file
    sections sso_sessions; ///< [sso-session NAME]
    sections services;     ///< [services NAME]: what a profile's `services` names; values are nested, see nested_in()

    /// Null when there is none of that name.
    section const* profile(std::string_view name) const { return find(profiles, name); }
    section const* sso_session(std::string_view name) const { return find(sso_sessions, name); }

    /// Entries of the profile's services section about one service ("sts", "sqs"); none when it has no such section.
    section service(section const& profile, std::string_view name) const;

private:
    static section const* find(sections const& in, std::string_view name)
    {
        auto const at = in.find(name);
        return at == in.end() ? nullptr : &at->second;
    }
};

/// The lines "name = value" below a name without a value of its own. What is not of that form is left out.
section nested_in(std::string_view value);

/// A file, to be named in errors.
struct shared_file {
    std::string path;
    std::string text;
};

/// Reads both ("Shared config and credentials files" in the AWS SDKs and tools reference guide). What both say about
/// a profile is merged, the credentials file winning. As in the AWS SDKs, sections of other kinds, and names with
/// other characters than letters, digits and -_/.%@:+, are passed over.
///
/// Fails with  errc::invalid_option  a line that is neither a section, a property, a comment nor the continuation of
///                                   a property; names file and line, and shows nothing of it
[[nodiscard]] result<shared_config> parse_shared_config(shared_file const& config, shared_file const& credentials);

struct shared_file_locations {
    std::string config;      ///< AWS_CONFIG_FILE, else ~/.aws/config
    std::string credentials; ///< AWS_SHARED_CREDENTIALS_FILE, else ~/.aws/credentials
};

/// A leading "~/" is the folder in HOME.
shared_file_locations locate_shared_files(environment const&);

/// `chosen` by the program; else AWS_PROFILE, AWS_DEFAULT_PROFILE, `otherwise`.
std::string selected_profile(
    environment const&, std::string_view chosen = {}, std::string_view otherwise = "default");

/// Finds, reads and parses both files; one that does not exist is empty.
///
/// Fails with  errc::invalid_option  as parse_shared_config(), or a file is there and cannot be read
[[nodiscard]] result<shared_config> load_shared_config(environment const&, file_system& = real_files());

} // namespace quern::aws
