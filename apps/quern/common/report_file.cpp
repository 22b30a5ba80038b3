#include "common/report_file.hpp"

#include "common/complaint.hpp"

#include <quern/core/detail/descriptor.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <random>
#include <unistd.h>
#include <utility>

namespace quern::app {

using quern::detail::system_failure;

namespace {

/// Why nothing can be put there.
std::optional<failure> unfit(std::string const& path)
{
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return system_failure(EISDIR, path);
    // A device or a pipe, which the report would replace rather than go to: /dev/stdout, for root.
    if (std::filesystem::is_other(path, ignored)) return system_failure(EINVAL, path + " is no plain file");
    return {};
}

failure no_room_beside(std::string const& path)
{
    auto const error = errno;
    auto const parent = std::filesystem::path(path).parent_path().string();
    return system_failure(error, "the folder " + (parent.empty() ? std::string(".") : parent) + " takes no file");
}

} // namespace

report_file::report_file(std::string path, std::string draft, int file, bool lasts)
    : path_(std::move(path)), draft_(std::move(draft)), file_(file), lasts_(lasts)
{}

report_file::report_file(report_file&& other) noexcept
    : path_(std::move(other.path_)), draft_(std::exchange(other.draft_, {})), file_(std::exchange(other.file_, -1)),
      lasts_(other.lasts_), is_empty_(other.is_empty_)
{}

report_file::~report_file()
{
    if (file_ >= 0 && !lasting().empty()) ::fsync(file_);
    if (file_ >= 0) ::close(file_);
    if (!draft_.empty() && lasting().empty()) ::unlink(draft_.c_str());
}

result<report_file> report_file::make(std::string path, bool lasts)
{
    if (auto why = unfit(path)) return std::move(*why);
    for (int number = 1;; ++number) {
        auto draft = path + ".partial" + (number == 1 ? std::string() : '-' + std::to_string(number));
        if (!lasts) draft = path + fmt::format(".{:06x}", std::random_device()() & 0xffffff);
        auto const file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0) return report_file(std::move(path), std::move(draft), file, lasts);
        if (errno != EEXIST) return no_room_beside(path);
    }
}

result<void> report_file::append(std::string_view text)
{
    while (!text.empty()) {
        auto const put = ::write(file_, text.data(), text.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return system_failure(errno, draft_);
        is_empty_ = false;
        text.remove_prefix(static_cast<std::size_t>(put));
    }
    return {};
}

result<void> report_file::finish()
{
    auto const file = std::exchange(file_, -1);
    int error = 0;
    if (::fsync(file) != 0) error = errno; // an export may be the only copy
    if (::close(file) != 0 && error == 0) error = errno;
    if (error == 0 && std::rename(draft_.c_str(), path_.c_str()) != 0) error = errno;
    if (error != 0) return system_failure(error, path_);
    draft_.clear();
    return {};
}

result<void> report_file::write(std::string_view text)
{
    auto const appended = append(text);
    return appended ? finish() : appended;
}

result<std::optional<report_file>> open_report(std::string const& path)
{
    std::optional<report_file> out;
    if (path.empty()) return out;
    auto opened = report_file::open(path);
    if (!opened) return opened.error();
    out.emplace(std::move(*opened));
    return out;
}

exit_code complain_of_report(std::string const& path, failure const& why)
{
    return complain("--report " + path + ": cannot be written: " + describe(why));
}

} // namespace quern::app
