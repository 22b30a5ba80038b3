#include <quern/aws/detail/shell_command.hpp>
#include <quern/core/detail/descriptor.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

// Not Boost.Process: that of 1.81 forks, where posix_spawn() shares the memory until the exec, leaves SIGPIPE ignored
// in the child, and its signals reach the shell alone but not what the shell has started.

namespace quern::aws::detail {

using namespace quern::detail;
namespace asio = boost::asio;
using asio::posix::stream_descriptor;

namespace {

/// A file in memory: a child that does not read it leaves nobody waiting, as a pipe would.
class memory_file {
public:
    memory_file() : file_(::memfd_create("quern-command", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {}

    bool fill(std::string_view bytes)
    {
        if (file_.get() < 0 || !write_all(file_.get(), bytes)) return false;
        return ::lseek(file_.get(), 0, SEEK_SET) == 0;
    }

    /// It takes a little more than that, and refuses the rest: a write is taken or refused a page at a time.
    bool bound(std::size_t size)
    {
        constexpr std::size_t page = 4096;
        return file_.get() >= 0 && ::ftruncate(file_.get(), static_cast<off_t>((size / page + 1) * page)) == 0 &&
            ::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0;
    }

    /// The text written to it; nothing when there is more.
    std::optional<std::string> text(std::size_t limit)
    {
        auto const written = ::lseek(file_.get(), 0, SEEK_CUR); // the child's place in it is ours
        std::string out(std::min(limit + 1, static_cast<std::size_t>(std::max<off_t>(written, 0))), '\0');
        std::size_t size = 0;
        while (size < out.size()) {
            auto const got = ::pread(file_.get(), out.data() + size, out.size() - size, static_cast<off_t>(size));
            if (got <= 0) break;
            size += static_cast<std::size_t>(got);
        }
        out.resize(size);
        return size > limit ? std::nullopt : std::optional(std::move(out));
    }

    int get() const { return file_.get(); }

private:
    descriptor file_;
};

/// How the child is set up: what posix_spawn() asks for.
class spawn_setup {
public:
    /// `output`: nothing for that of this program.
    spawn_setup(int input, std::optional<int> output)
    {
        posix_spawn_file_actions_init(&files_);
        posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
        if (output) posix_spawn_file_actions_adddup2(&files_, *output, STDOUT_FILENO);
        posix_spawn_file_actions_addclosefrom_np(&files_, STDERR_FILENO + 1); // sockets, most of all

        posix_spawnattr_init(&attributes_);
        sigset_t defaults;
        sigemptyset(&defaults);
        sigaddset(&defaults, SIGPIPE); // ignored here; handled signals return to their defaults by themselves
        sigaddset(&defaults, SIGCHLD); // ignored by some who start us, which would hide how its own children end
        posix_spawnattr_setsigdefault(&attributes_, &defaults);
        posix_spawnattr_setpgroup(&attributes_, 0);
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    }
    spawn_setup(spawn_setup const&) = delete;
    ~spawn_setup()
    {
        posix_spawn_file_actions_destroy(&files_);
        posix_spawnattr_destroy(&attributes_);
    }

    result<pid_t> spawn(std::string command, std::vector<std::string> environment)
    {
        std::vector<char*> variables;
        for (auto& ours : environment)
            variables.push_back(ours.data());
        for (auto** inherited = ::environ; *inherited; ++inherited) {
            auto const name = std::string_view(*inherited).substr(0, std::string_view(*inherited).find('=') + 1);
            auto const replaces = [&](std::string const& ours) { return ours.starts_with(name); };
            if (std::ranges::none_of(environment, replaces)) variables.push_back(*inherited);
        }
        variables.push_back(nullptr);
        std::string shell = "sh", option = "-c";
        char* const arguments[] = {shell.data(), option.data(), command.data(), nullptr};
        pid_t child = -1;
        auto const error = ::posix_spawn(&child, "/bin/sh", &files_, &attributes_, arguments, variables.data());
        if (error != 0) return system_failure(error, "/bin/sh");
        return child;
    }

private:
    posix_spawn_file_actions_t files_;
    posix_spawnattr_t attributes_;
};

/// The command and what it has started. None of it outlives the coroutine that runs it, and no zombie is left.
class process_group {
public:
    explicit process_group(pid_t leader) : leader_(leader), group_(leader) {}
    process_group(process_group const&) = delete;
    ~process_group()
    {
        if (leader_ == 0) return;
        signal(SIGKILL);
        (void)reap();
    }

    void signal(int number) const { ::kill(-group_, number); }
    result<command_end> reap();

    /// Whether the leader has left some behind. To be asked once it is reaped: until then it counts itself.
    bool has_members() const { return ::kill(-group_, 0) == 0; }

private:
    pid_t leader_; ///< 0 once it is reaped
    pid_t group_;  ///< nobody else's as long as somebody is in it
};

/// After the leader has ended. Fails where SIGCHLD is ignored, or somebody else reaps: nobody knows then how it
/// ended.
result<command_end> process_group::reap()
{
    command_end out;
    int status = 0;
    auto const child = std::exchange(leader_, 0);
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return system_failure(errno, "how the command ended (is SIGCHLD ignored?)");
    }
    if (WIFSIGNALED(status))
        out.signal = WTERMSIG(status);
    else
        out.status = WEXITSTATUS(status);
    return out;
}

/// Completes when the leader has ended by itself, by SIGTERM or, at the end of `patience`, by SIGKILL.
asio::awaitable<void> killed(process_group const& group, stream_descriptor& process, asio::steady_timer& patience)
{
    group.signal(SIGTERM);
    auto race = asio::experimental::make_parallel_group(
        process.async_wait(stream_descriptor::wait_read, asio::deferred), patience.async_wait(asio::deferred));
    auto const [order, ended, waited] =
        co_await race.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    if (!ended) co_return;
    group.signal(SIGKILL);
    co_await process.async_wait(stream_descriptor::wait_read, asio::as_tuple(asio::use_awaitable));
}

/// Completes when those whom the leader has left behind have ended as well, at the end of `patience` by SIGKILL.
/// Nothing tells of that, so it looks again and again.
asio::awaitable<void> gone(process_group const& group, asio::steady_timer& patience)
{
    struct end { // in time, and where the context goes first
        process_group const& group;
        ~end() { group.signal(SIGKILL); }
    } const at_last{group};
    auto const until = patience.expiry();
    while (group.has_members()) {
        auto const now = asio::steady_timer::clock_type::now();
        if (now >= until) break;
        patience.expires_at(std::min(until, now + std::chrono::milliseconds(20)));
        co_await patience.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

} // namespace

asio::awaitable<result<command_end>> run_shell_command(shell_command what)
{
    memory_file input;
    std::optional<memory_file> output;
    if (what.keep_output) output.emplace();
    if (output && !output->bound(what.output_limit)) {
        co_return system_failure(errno, "a file in memory for the output of a command");
    }
    if (!input.fill(what.input)) co_return system_failure(errno, "a file in memory for the input of a command");
    spawn_setup setup(input.get(), output ? std::optional(output->get()) : std::nullopt);
    auto const child = setup.spawn(std::move(what.text), std::move(what.environment));
    if (!child) co_return child.error();
    process_group group(*child);

    // By its number: glibc 2.36 declares pidfd_open() without C linkage.
    auto const watch = static_cast<int>(::syscall(SYS_pidfd_open, *child, 0));
    if (watch < 0) co_return system_failure(errno, "pidfd_open");
    auto const ex = co_await asio::this_coro::executor;
    stream_descriptor process(ex, watch);
    asio::steady_timer patience(ex, asio::steady_timer::time_point::max());
    if (what.limit) patience.expires_after(*what.limit);
    auto race = asio::experimental::make_parallel_group(
        process.async_wait(stream_descriptor::wait_read, asio::deferred), patience.async_wait(asio::deferred));
    auto const [order, running, waited] =
        co_await race.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    if (running) {
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        patience.expires_after(what.grace);
        co_await killed(group, process, patience);
    }
    auto end = group.reap();
    if (running) co_await gone(group, patience);
    if (!end) co_return end;
    end->timed_out = running && !waited;
    end->cancelled = running && waited;
    if (output) {
        auto text = output->text(what.output_limit);
        if (!text) co_return system_failure(EFBIG, "the output of a command");
        end->output = std::move(*text);
    }
    co_return end;
}

} // namespace quern::aws::detail
