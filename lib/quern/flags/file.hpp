#pragma once

#include <quern/aws/config/files.hpp>
#include <quern/policy/flag.hpp>

#include <memory>
#include <string>

namespace quern::flags {

/// A flag in a file of this machine, or of a volume that many have: a word or JSON, see policy::read_flag().
///
/// Whoever changes it should write a new file and rename it: what is read in the middle of a write may hold no word,
/// and counts as unreadable. So does a file that is absent: whoever lowers the flag writes `closed`, for a file that
/// is deleted takes no halt back.
///
/// Reads on the caller's thread. `files`: outlives it.
std::shared_ptr<policy::flag_source> in_file(std::string path, aws::file_system& files = aws::real_files());

} // namespace quern::flags
