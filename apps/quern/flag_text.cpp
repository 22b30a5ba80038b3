#include "flag_text.hpp"

#include <quern/flags/file.hpp>

#include <string_view>

namespace quern::app {

std::shared_ptr<policy::flag_source> flag_from(std::string const& text)
{
    constexpr std::string_view file = "file:";
    if (text.starts_with(file) && text.size() > file.size()) return flags::in_file(text.substr(file.size()));
    return nullptr;
}

std::string check_flag(std::string const& text)
{
    return flag_from(text) ? "" : "file:PATH, not " + text;
}

} // namespace quern::app
