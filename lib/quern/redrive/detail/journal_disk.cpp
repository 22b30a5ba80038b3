// Journals in a folder.

#include <quern/core/detail/descriptor.hpp>
#include <quern/core/detail/text/reading.hpp>
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
#include <vector>

namespace quern::redrive {

using namespace quern::detail;

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

constexpr std::size_t size_digits = 20; // always as many, so that a shorter one leaves nothing behind

/// The size that stands beside a journal; 0 where there is none, as beside those of older versions.
std::size_t size_in(std::string const& path)
{
    descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    auto const text = file.get() < 0 ? result<std::string>() : read_all(file.get(), path);
    return text ? text::number_in<std::size_t>(text->substr(0, size_digits)).value_or(0) : 0;
}

/// Locks of a writer, held while it is there.
struct place {
    std::vector<descriptor> locks; ///< on the folder, and on the queue
    descriptor run;                ///< and the size, before who has it
};

class disk_file final : public journal_file {
public:
    disk_file(place held, descriptor file, std::string const& folder, std::string const& name)
        : place_(std::move(held)), file_(std::move(file)), path_(path_of(folder, name, ".jsonl")),
          size_path_(path_of(folder, name, ".size")), cancel_path_(path_of(folder, name, ".cancel"))
    {}

    /// Leaves no file where nothing was ever written. The place is held until it is gone.
    ~disk_file() override
    {
        struct ::stat is {};
        auto const is_empty = ::fstat(file_.get(), &is) == 0 && is.st_size == 0;
        if (is_empty && size_in(size_path_) == 0) ::unlink(path_.c_str());
    }

    result<void> read(piece_reader const& take) override { return read_pieces(file_.get(), path_, take); }

    result<void> append(std::string_view text) override
    {
        if (!write_all(file_.get(), text) || ::fsync(file_.get()) != 0) return system_failure(errno, path_);
        return tell_size();
    }

    result<void> cut(std::size_t size) override
    {
        if (::ftruncate(file_.get(), static_cast<off_t>(size)) != 0 || ::fsync(file_.get()) != 0)
            return system_failure(errno, path_);
        return tell_size();
    }

    std::size_t least_size() override { return size_in(size_path_); }

    bool is_cancelled() override { return ::access(cancel_path_.c_str(), F_OK) == 0; }
    void forget_cancel() override { ::unlink(cancel_path_.c_str()); }

private:
    /// Tells whoever reads it next how long it was, after what it tells of: then it is never too much, and need not
    /// be kept on the disk by itself.
    result<void> tell_size()
    {
        struct ::stat is {};
        if (::fstat(file_.get(), &is) != 0) return system_failure(errno, path_);
        auto text = std::to_string(is.st_size);
        text.insert(0, size_digits - std::min(size_digits, text.size()), '0');
        if (::pwrite(place_.run.get(), text.data(), text.size(), 0) < 0) return system_failure(errno, path_);
        return {};
    }

    place const place_;
    descriptor const file_;
    std::string const path_, size_path_, cancel_path_;
};

/// A lock on that file, which says who has it behind so many bytes.
result<descriptor> locked(std::string const& path, std::string const& what, std::string const& name, std::size_t at)
{
    descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (lock.get() < 0) return system_failure(errno, path);
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return system_failure(errno, path);
        auto const text = read_all(lock.get(), path);
        return failure(errc::invalid_option,
            what + " is in use by " +
                (text && text->size() > at ? text->substr(at) : std::string("another process")));
    }
    auto const text = "process " + std::to_string(::getpid()) + ", for " + name;
    if (at == 0 && ::ftruncate(lock.get(), 0) != 0) return system_failure(errno, path);
    if (::pwrite(lock.get(), text.data(), text.size(), static_cast<off_t>(at)) < 0)
        return system_failure(errno, path);
    return lock;
}

/// The place of the only writer of this journal, and of the only run in this folder over that queue.
result<place> take_place(std::string const& folder, std::string const& name, std::string const& queue)
{
    std::vector<descriptor> locks;
    auto const path = folder + "/lock"; // which older versions have alone
    auto const& whole = locks.emplace_back(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (whole.get() < 0) return system_failure(errno, path);
    if (::flock(whole.get(), LOCK_SH | LOCK_NB) != 0) {
        auto const holder = read_all(whole.get(), path);
        return failure(errc::invalid_option, folder + " is in use by " + (holder ? *holder : std::string("another")));
    }
    if (!queue.empty()) {
        auto of_queue = locked(path_of(folder, queue, ".queue"), folder + ", for " + queue + ',', name, 0);
        if (!of_queue) return of_queue.error();
        locks.push_back(std::move(*of_queue));
    }
    auto of_run = locked(path_of(folder, name, ".size"), path_of(folder, name, ".jsonl"), name, size_digits);
    if (!of_run) return of_run.error();
    return place{std::move(locks), std::move(*of_run)};
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

result<std::unique_ptr<journal_file>> open_journal_file(
    std::string const& folder, std::string const& name, std::string const& queue)
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
    auto held = take_place(folder, name, queue);
    if (!held) return held.error();
    auto const path = path_of(folder, name, ".jsonl");
    descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (file.get() < 0) return system_failure(errno, path);
    auto const synced = sync_folder(folder);
    if (!synced) return synced.error();
    return std::unique_ptr<journal_file>(
        std::make_unique<disk_file>(std::move(*held), std::move(file), folder, name));
}

result<std::string> read_journal_file(std::string const& folder, std::string const& name)
{
    auto const path = path_of(folder, name, ".jsonl");
    auto const least = size_in(path_of(folder, name, ".size")); // before: who writes it goes on
    descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return system_failure(errno, path);
    auto text = read_all(file.get(), path);
    if (!text) return text;
    if (auto const wrong = shorter_than(least, text->rfind('\n') + 1)) return *wrong;
    return text;
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
    if (auto const wrong = shorter_than(size_in(path_of(folder, name, ".size")), extent->whole)) return *wrong;
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

result<std::map<std::string, int, std::less<>>> counted_attempts(std::string const& folder)
{
    std::map<std::string, int, std::less<>> out;
    if (::access(folder.c_str(), F_OK) != 0) return out;
    auto const names = journal_names(folder);
    if (!names) return names.error();
    auto const take = [&out](std::string_view line) {
        if (line.find(name_of(event_kind::sent)) == line.npos || line.find("\"attempt\":") == line.npos) return;
        auto const e = parse_event(line);
        if (e && e->kind == event_kind::sent && e->attempt != 0) out[e->new_id] = e->attempt;
    };
    for (auto const& name : *names) {
        auto const path = path_of(folder, name, ".jsonl");
        descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (file.get() < 0) return system_failure(errno, path);
        std::string begun;
        auto const read = read_pieces(file.get(), path, [&](std::string_view piece) -> result<void> {
            for (auto end = piece.find('\n'); end != piece.npos; end = piece.find('\n')) {
                begun += piece.substr(0, end);
                take(begun);
                begun.clear();
                piece.remove_prefix(end + 1);
            }
            begun += piece;
            return {};
        });
        if (!read) return read.error();
    }
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
