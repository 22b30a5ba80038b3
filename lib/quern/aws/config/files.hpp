#pragma once

#include <quern/core/error.hpp>

#include <string>
#include <string_view>

namespace quern::aws {

/// The seam through which configuration, tokens and caches are read: the disk, or what a test puts in its place.
/// Calls block; the files are small, and read at the start and when credentials are renewed.
class file_system {
public:
    virtual ~file_system() = default;

    /// The whole file.
    ///
    /// Fails with  the system's code (std::errc::no_such_file_or_directory where there is none); the message has the
    ///             path
    [[nodiscard]] virtual result<std::string> read(std::string const& path) = 0;

    /// Puts a file that only its owner may read in the place of what was there. Others see the old one or the new one
    /// whole.
    [[nodiscard]] virtual result<void> replace(std::string const& path, std::string_view text) = 0;
};

/// The disk. Lives as long as the program.
file_system& real_files();

} // namespace quern::aws
