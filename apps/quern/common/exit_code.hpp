#pragma once

namespace quern::app {

/// The status that the shell learns. Listed in the footer of --help.
enum exit_code {
    ok = 0,
    failed = 1,      ///< the reason is on standard error
    usage = 2,       ///< the command line or the environment
    not_drained = 3, ///< a drain left something behind; --report says what
    deleted = 4,     ///< messages were rejected and deleted that nobody has handled
    halted = 5,      ///< a rule of a redrive, or a refusal for good, ended it early
};

} // namespace quern::app
