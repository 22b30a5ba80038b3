#pragma once

#include "common/exit_code.hpp"

#include <quern/core/error.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace quern::app {

/// A file that appears whole or not at all: whoever watches it never sees half of it. Until then it is a draft of
/// another name beside it, so that a folder that takes no file is known at once and not at the end of a night's work.
class report_file {
public:
    /// Makes the draft. Fails when the folder is not there or takes no file, or when `path` is a folder, a device or
    /// a pipe.
    [[nodiscard]] static result<report_file> open(std::string path) { return make(std::move(path), false); }

    /// The same with a draft that stays if it is not finished, and is not empty: PATH.partial, or PATH.partial-2 and
    /// so on, the first name that nothing has.
    [[nodiscard]] static result<report_file> open_lasting(std::string path) { return make(std::move(path), true); }

    report_file(report_file&&) noexcept;
    report_file& operator=(report_file&&) = delete;
    ~report_file();

    [[nodiscard]] result<void> append(std::string_view text); ///< to the draft
    [[nodiscard]] result<void> finish(); ///< puts the draft in its place; once, and nothing after

    [[nodiscard]] result<void> write(std::string_view text); ///< both

    /// The name under which the draft stays; empty: it does not, as it is now.
    std::string lasting() const { return lasts_ && !is_empty_ ? draft_ : std::string(); }

private:
    static result<report_file> make(std::string path, bool lasts);
    report_file(std::string path, std::string draft, int file, bool lasts);

    std::string path_, draft_;
    int file_; ///< -1 when it is closed
    bool lasts_, is_empty_ = true;
};

/// The report that --report asks for; none where the path is empty.
[[nodiscard]] result<std::optional<report_file>> open_report(std::string const& path);

/// Says that there will be no such report; returns the exit code.
exit_code complain_of_report(std::string const& path, failure const&);

} // namespace quern::app
