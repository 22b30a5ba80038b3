#include "report_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace quern::app {
namespace {

failure failed_for(std::string what, int error)
{
    failure why;
    why.code.assign(error, boost::system::system_category());
    why.message = std::move(what);
    return why;
}

/// As any file that a program makes: mkostemp() lets only the owner read it.
void open_to_others(int file)
{
    auto const mask = ::umask(0);
    ::umask(mask);
    (void)!::fchmod(file, 0666 & ~mask);
}

} // namespace

report_file::report_file(std::string path, std::string draft, int file)
    : path_(std::move(path)), draft_(std::move(draft)), file_(file)
{}

report_file::report_file(report_file&& other) noexcept
    : path_(std::move(other.path_)), draft_(std::exchange(other.draft_, {})), file_(std::exchange(other.file_, -1))
{}

report_file::~report_file()
{
    if (file_ >= 0) ::close(file_);
    if (!draft_.empty()) ::unlink(draft_.c_str());
}

result<report_file> report_file::open(std::string path)
{
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return failed_for(path, EISDIR);
    // A device or a pipe, which the report would replace rather than go to: /dev/stdout, for root.
    if (std::filesystem::is_other(path, ignored)) return failed_for(path + " is no plain file", EINVAL);
    auto const parent = std::filesystem::path(path).parent_path().string();
    auto const folder = parent.empty() ? std::string(".") : parent;
    // A name that nobody can foresee, and a file that nobody has put there.
    auto draft = path + ".XXXXXX";
    auto const file = ::mkostemp(draft.data(), O_CLOEXEC);
    if (file < 0) return failed_for("the folder " + folder + " takes no file", errno);
    open_to_others(file);
    return report_file(std::move(path), std::move(draft), file);
}

result<void> report_file::write(std::string_view text)
{
    auto const file = std::exchange(file_, -1);
    int error = 0;
    while (!text.empty() && error == 0) {
        auto const put = ::write(file, text.data(), text.size());
        if (put >= 0)
            text.remove_prefix(static_cast<std::size_t>(put));
        else if (errno != EINTR)
            error = errno;
    }
    if (error == 0 && ::fsync(file) != 0) error = errno; // an export may be the only copy
    if (::close(file) != 0 && error == 0) error = errno;
    if (error == 0 && std::rename(draft_.c_str(), path_.c_str()) != 0) error = errno;
    if (error != 0) return failed_for(path_, error);
    draft_.clear();
    return {};
}

} // namespace quern::app
