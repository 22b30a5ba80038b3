#pragma once

#include <string>

namespace quern::detail {

/// The text with a blank for each control character (C0, DEL, C1) and a question mark for each byte that is not
/// UTF-8: what a stranger wrote may then stand in a log and on a terminal.
std::string printable(std::string text);

} // namespace quern::detail
