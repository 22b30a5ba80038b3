#pragma once

#include <quern/aws/config/environment.hpp>
#include <quern/core/error.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::app {

// Options that stand elsewhere than on the command line: in a file of TOML, and in the environment, which says the
// last word of the two. The command line says the last word of all.

/// An option of a command.
struct known_option {
    std::string name;     ///< "max-in-flight"; of a positional argument "queue"
    bool is_flag = false; ///< takes no value
    bool is_list = false; ///< may be given several times
    bool is_positional = false;
};

/// Values of one option, from one place. `where`: for a complaint, "quern.toml:3:1" or "QUERN_CONSUME_RATE".
struct said_setting {
    known_option what;
    std::vector<std::string> values;
    std::string where;
    bool operator==(said_setting const& o) const { return what.name == o.what.name && values == o.values; }
};

/// Names of these options as a file has them: "max_in_flight".
std::vector<std::string> keys_of(std::vector<known_option> const&);

/// The word that somebody may have meant; nothing when none is near.
std::optional<std::string> nearest(std::string_view word, std::vector<std::string> const& of);

/// ", did you mean rate?", or nothing.
std::string did_you_mean(std::string_view word, std::vector<std::string> const& of);

/// Options to look for. `path`: of the command, {"queue", "create"}; `commands`: all top-level names that another
/// command has; `read_elsewhere`: keys of its table that somebody else reads.
struct wanted_settings {
    std::vector<std::string> path;
    std::vector<known_option> of_command, of_program;
    std::vector<std::string> commands;
    std::function<bool(std::string_view key)> read_elsewhere;
};

/// Settings in a document:
///
///     region = "eu-west-1"          # options of the program
///     [consume]                     # and of a command, with _ for -
///     queue = "orders"
///     max_in_flight = 200
///     drain_deadline = "45s"
///
/// Fails with  errc::invalid_option  a sentence that names file, line, column and key, and the nearest one
result<std::vector<said_setting>> settings_in_document(
    std::string_view document, std::string_view file, wanted_settings const&);

/// Settings in the environment: QUERN_REGION, QUERN_CONSUME_MAX_IN_FLIGHT. Lists have their values in lines. `names`:
/// of all variables, so that one can be told that means nothing; what Kubernetes sets for a service "quern-consume"
/// is none of ours.
std::vector<said_setting> settings_in_environment(aws::environment const&, std::vector<std::string> const& names,
    wanted_settings const&, std::vector<std::string>& warnings);

/// Names of options that differ, in the order of their names.
std::vector<std::string> changed_settings(
    std::vector<said_setting> const& before, std::vector<said_setting> const& after);

/// Names of all variables of the environment.
std::vector<std::string> all_variable_names();

} // namespace quern::app
