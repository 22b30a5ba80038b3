#pragma once

#include <quern/policy/flag.hpp>

#include <memory>
#include <string>

namespace quern::app {

/// Flag that a text like "file:/run/halt" names; null where it names none.
std::shared_ptr<policy::flag_source> flag_from(std::string const& text);

/// For the command line: what is wrong with such a text; empty when nothing is.
std::string check_flag(std::string const& text);

} // namespace quern::app
