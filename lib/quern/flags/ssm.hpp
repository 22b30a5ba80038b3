#pragma once

#include <quern/policy/flag.hpp>
#include <quern/services/ssm.hpp>

#include <memory>
#include <string>

namespace quern::flags {

/// A flag in a parameter of Systems Manager: a word or JSON, see policy::read_flag(). It is asked for decrypted, so
/// that a SecureString serves too.
///
/// Threads  any: consumers may share it.
std::shared_ptr<policy::flag_source> in_parameter(std::shared_ptr<services::ssm>, std::string name);

} // namespace quern::flags
