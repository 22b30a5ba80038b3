#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace quern::aws {

/// Value of an environment variable; empty when it is not set.
using environment = std::function<std::string(char const* name)>;

/// The environment of this process.
std::string process_environment(char const* name);

/// The first of these variables that is set and not empty.
std::string first_set(environment const&, std::initializer_list<char const*> names);

/// "true", however it is written, as AWS' tools read switches in variables and configuration files.
bool says_true(std::string_view);

} // namespace quern::aws
