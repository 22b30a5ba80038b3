// Journals in a folder.

#include <quern/core/detail/descriptor.hpp>
#include <quern/redrive/journal.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace quern::redrive {
namespace {

namespace fs = std::filesystem;

result<void> read_pieces(int fd, std::string const& path, journal_file::piece_reader const& take)
{
    std::array<char, 64 * 1024> buffer{};
    if (::lseek(fd, 0, SEEK_SET) < 0) return system_failure(errno, path);
    for (;;) {
        auto const got = ::read(fd, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_failure(errno, path);
        if (got == 0) return {};
        auto const taken = take(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
        if (!taken) return taken.error();
    }
}

result<std::string> read_all(int fd, std::string const& path)
{
    std::string out;
    auto const append = [&out](std::string_view piece) -> result<void> {
        out += piece;
        return {};
    };
    auto const read = read_pieces(fd, path, append);
    if (!read) return read.error();
    return out;
}

/// A new name in a folder outlasts the machine only once the folder itself is written.
result<void> sync_folder(std::string const& folder)
{
    descriptor const it(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (it.get() < 0 || ::fsync(it.get()) != 0) return system_failure(errno, folder);
    return {};
}

std::string path_of(std::string const& folder, std::string const& name, char const* kind)
{
    return folder + '/' + name + kind;
}

class disk_file final : public journal_file {
public:
    disk_file(descriptor lock, descriptor file, std::string path, std::string cancel_path)
        : lock_(std::move(lock)), file_(std::move(file)), path_(std::move(path)), cancel_path_(std::move(cancel_path))
    {}

    result<void> read(piece_reader const& take) override { return read_pieces(file_.get(), path_, take); }

    result<void> append(std::string_view text) override
    {
        if (!write_all(file_.get(), text) || ::fsync(file_.get()) != 0) return system_failure(errno, path_);
        return {};
    }

    result<void> cut(std::size_t size) override
    {
        if (::ftruncate(file_.get(), static_cast<off_t>(size)) != 0 || ::fsync(file_.get()) != 0)
            return system_failure(errno, path_);
        return {};
    }

    bool is_cancelled() override { return ::access(cancel_path_.c_str(), F_OK) == 0; }
    void forget_cancel() override { ::unlink(cancel_path_.c_str()); }

private:
    descriptor const lock_, file_;
    std::string const path_, cancel_path_;
};

/// The writer's place; the file says who has it.
result<descriptor> take_place(std::string const& folder, std::string const& name)
{
    auto const path = folder + "/lock";
    descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (lock.get() < 0) return system_failure(errno, path);
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return system_failure(errno, path);
        auto const holder = read_all(lock.get(), path);
        return failure(errc::invalid_option,
            folder + " is in use by " + (holder && !holder->empty() ? *holder : std::string("another process")));
    }
    auto const text = "process " + std::to_string(::getpid()) + ", for " + name;
    if (::ftruncate(lock.get(), 0) != 0 || !write_all(lock.get(), text)) return system_failure(errno, path);
    return lock;
}

} // namespace

bool is_journal_name(std::string_view name)
{
    auto const is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
            c == '.';
    };
    return !name.empty() && name.front() != '.' && name.size() <= 80 && std::ranges::all_of(name, is_plain);
}

result<std::unique_ptr<journal_file>> open_journal_file(std::string const& folder, std::string const& name)
{
    if (!is_journal_name(name))
        return failure(errc::invalid_option,
            "a journal's name is 1 to 80 of A-Z a-z 0-9 - _ ., no dot first, unlike \"" + name + "\"");
    if (::mkdir(folder.c_str(), 0700) == 0) {
        auto const parent = fs::path(folder).parent_path().string();
        auto const synced = sync_folder(parent.empty() ? std::string(".") : parent);
        if (!synced) return synced.error();
    } else if (errno != EEXIST) {
        return system_failure(errno, folder);
    }
    auto lock = take_place(folder, name);
    if (!lock) return lock.error();
    auto const path = path_of(folder, name, ".jsonl");
    descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (file.get() < 0) return system_failure(errno, path);
    auto const synced = sync_folder(folder);
    if (!synced) return synced.error();
    return std::unique_ptr<journal_file>(
        std::make_unique<disk_file>(std::move(*lock), std::move(file), path, path_of(folder, name, ".cancel")));
}

result<std::string> read_journal_file(std::string const& folder, std::string const& name)
{
    auto const path = path_of(folder, name, ".jsonl");
    descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return system_failure(errno, path);
    return read_all(file.get(), path);
}

result<std::optional<event>> read_journal_start(std::string const& folder, std::string const& name)
{
    auto const path = path_of(folder, name, ".jsonl");
    descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return system_failure(errno, path);
    std::optional<event> out;
    event_reader reader([&out](event&& e) -> result<void> {
        if (e.kind != event_kind::started) return failure(errc::invalid_option, "a run begins otherwise");
        out = std::move(e);
        return failure(errc::stopped, "no more is wanted");
    });
    auto const read = read_pieces(file.get(), path, [&](std::string_view piece) { return reader.read(piece); });
    if (out) return out;
    if (!read) return read.error();
    auto const extent = reader.end();
    if (!extent) return extent.error();
    return out;
}

result<void> find_journal_file(std::string const& folder, std::string const& name)
{
    auto const path = path_of(folder, name, ".jsonl");
    if (::access(path.c_str(), F_OK) != 0) return system_failure(errno, path);
    return {};
}

result<std::vector<std::string>> journal_names(std::string const& folder)
{
    std::vector<std::string> out;
    std::error_code wrong;
    for (auto at = fs::directory_iterator(folder, wrong); !wrong && at != fs::directory_iterator();
         at.increment(wrong))
        if (at->path().extension() == ".jsonl") out.push_back(at->path().stem().string());
    if (wrong) return system_failure(wrong.value(), folder);
    std::ranges::sort(out);
    return out;
}

result<void> ask_to_cancel(std::string const& folder, std::string const& name)
{
    auto const path = path_of(folder, name, ".cancel");
    descriptor const file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (file.get() < 0) return system_failure(errno, path);
    return sync_folder(folder);
}

} // namespace quern::redrive
