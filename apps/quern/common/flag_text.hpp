#pragma once

#include <quern/core/error.hpp>

#include <string>
#include <vector>

namespace quern::app {

/// Place of a flag, as the command line names it.
struct flag_place {
    enum class kind { file, parameter, configuration, agent, item };
    kind where = kind::file;
    std::vector<std::string> path; ///< file; parameter; application, environment, profile; table, name
    std::string part;              ///< of a configuration: the JSON pointer; of an item: the attribute; empty: none
};

/// Forms that a flag's text may have, for helps and complaints.
inline constexpr char const* flag_forms = "file:PATH, ssm:NAME, ddb:TABLE/KEY[#attribute], "
                                          "appconfig:APP/ENV/PROFILE[#/json/pointer] or "
                                          "appconfig-agent:APP/ENV/PROFILE[#/json/pointer]";

/// Fails with  errc::invalid_option  names the form that the text should have
result<flag_place> parse_flag(std::string const& text);

} // namespace quern::app
