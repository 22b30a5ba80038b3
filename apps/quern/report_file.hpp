#pragma once

#include <quern/core/error.hpp>

#include <string>
#include <string_view>

namespace quern::app {

/// A file that appears whole or not at all: whoever watches it never sees half of it. Until then it is a draft of
/// another name beside it, so that a folder that takes no file is known at once and not at the end of a night's work.
class report_file {
public:
    /// Makes the draft. Fails when the folder is not there or takes no file, or when `path` is a folder, a device or
    /// a pipe.
    static result<report_file> open(std::string path);

    report_file(report_file&&) noexcept;
    report_file& operator=(report_file&&) = delete;
    ~report_file(); ///< what was not written leaves nothing behind

    /// Once.
    result<void> write(std::string_view text);

private:
    report_file(std::string path, std::string draft, int file);

    std::string path_, draft_;
    int file_; ///< -1 when it is closed
};

} // namespace quern::app
