#include <quern/aws/config/environment.hpp>
#include <quern/core/detail/text/characters.hpp>

#include <cstdlib>

namespace quern::aws {

using namespace quern::detail;

std::string process_environment(char const* name)
{
    char const* const value = std::getenv(name);
    return value ? value : "";
}

std::string first_set(environment const& variable, std::initializer_list<char const*> names)
{
    for (auto const* const name : names) {
        if (auto value = variable(name); !value.empty()) return value;
    }
    return {};
}

bool says_true(std::string_view text)
{
    return text::lower_case(text) == "true";
}

} // namespace quern::aws
