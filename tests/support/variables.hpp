#pragma once

#include <map>
#include <string>
#include <utility>

namespace quern::test {

/// An environment of these variables and no others.
inline auto with(std::map<std::string, std::string> variables)
{
    return [variables = std::move(variables)](char const* name) {
        auto const at = variables.find(name);
        return at == variables.end() ? std::string() : at->second;
    };
}

} // namespace quern::test
