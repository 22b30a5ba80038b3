#pragma once

#include <string_view>

namespace quern::broker {

/// page.html, as the build has put it into the program.
extern std::string_view const page_text;

} // namespace quern::broker
