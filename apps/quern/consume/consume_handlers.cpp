#include "consume/consume_handlers.hpp"

#include "common/complaint.hpp"
#include "common/message_json.hpp"
#include "common/standard_streams.hpp"

#include <quern/aws/detail/shell_command.hpp>
#include <quern/core/detail/descriptor.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace quern::app {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

asio::awaitable<outcome> print(
    line_writer& to, std::function<void(failure const&)> const& broken, std::string const& queue_url, delivery& d)
{
    auto line = harmless(json_line(d, queue_url));
    auto const written = co_await to.write(std::move(line));
    if (written) co_return ack();
    broken(written.error());
    co_return release();
}

/// Longest variable that Linux takes, "NAME=value" with its end.
constexpr std::size_t most_of_variable = 128 * 1024;

/// A file in memory that a command can open while this lives.
class memory_file {
public:
    explicit memory_file(std::string_view text)
        : file_(::memfd_create("quern attributes", MFD_CLOEXEC)),
          is_whole_(file_.get() >= 0 && detail::write_all(file_.get(), text))
    {}

    bool is_whole() const { return is_whole_; }
    std::string path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get()); }

private:
    detail::descriptor file_;
    bool is_whole_;
};

/// Something that this machine lacks, whatever the message.
bool is_our_want(failure const& why)
{
    if (why.code.category() != boost::system::system_category()) return false;
    for (int const lacking : {EMFILE, ENFILE, ENOMEM, EAGAIN})
        if (why.code.value() == lacking) return true;
    return false;
}

outcome outcome_of(int status, exit_rule const& exits)
{
    auto const found = fmt::format("the command ended with status {}{}", status,
        status == 127       ? ": not found"
            : status == 126 ? ": not executable"
                            : "");
    switch (exits.of(status)) {
    case exit_meaning::reject: return reject(found).because({}, status);
    case exit_meaning::unavailable: return unavailable().because(found, status);
    case exit_meaning::malformed: throw parse_error(found);
    case exit_meaning::retry: break;
    }
    throw handler_error(found, status);
}

/// Runs the command once.
///
/// Fails with  the system's code where this machine lacks what it takes to start it
asio::awaitable<result<outcome>> try_command(command_work const& how, delivery& d)
{
    aws::detail::shell_command what(how.command);
    what.input = d.body();
    std::optional<memory_file> attributes;
    if (auto text = attributes_json(d); text.size() > most_of_variable - 32) {
        attributes.emplace(text);
        if (!attributes->is_whole()) {
            failure const no_file(errc::stopped, "no file in memory for its attributes");
            co_return no_file;
        }
    }
    what.environment = variables(d, how.queue_url, attributes ? attributes->path() : std::string());
    if (how.more) std::ranges::move(how.more(d), std::back_inserter(what.environment));
    what.grace = how.grace;
    auto const end = co_await aws::detail::run_shell_command(std::move(what));
    if (!end && is_our_want(end.error())) co_return end.error();
    if (!end) throw std::runtime_error("the command could not be run: " + describe(end.error()));
    if (end->succeeded()) co_return ack();
    if (end->cancelled) throw boost::system::system_error(asio::error::operation_aborted);
    if (end->signal != 0) throw std::runtime_error(fmt::format("the command was ended by signal {}", end->signal));
    co_return outcome_of(end->status, how.exits);
}

/// A command, and what it says of its messages.
struct command_station {
    command_work const how;
    log_throttle log;

    explicit command_station(command_work work) : how(std::move(work)), log(to_stderr(), how.queue_url) {}
};

/// Tries again where this machine lacks something: commands that end give it back. To put the message off would cost
/// it a receive for what is no fault of its own.
asio::awaitable<outcome> run_command(std::shared_ptr<command_station> at, delivery& d)
{
    auto const timer = real_clock().make_timer(co_await asio::this_coro::executor);
    for (auto pause = 50ms;; pause = std::min<std::chrono::milliseconds>(2 * pause, 1s)) {
        auto done = co_await try_command(at->how, d);
        if (done) co_return *std::move(done);
        log_entry line;
        line.kind = describe(done.error());
        line.text = std::string(d.id()) + ": the command could not be started: " + line.kind;
        line.about.message_id = d.id();
        line.about.attempt = d.receive_count();
        at->log.write(log_level::warning, "waiting", std::move(line), real_clock().now());
        co_await timer->wait_until(real_clock().now() + pause);
        auto const asked = (co_await asio::this_coro::cancellation_state).cancelled();
        if (asked != asio::cancellation_type::none) throw boost::system::system_error(asio::error::operation_aborted);
    }
}

} // namespace

handler print_messages(
    std::shared_ptr<line_writer> to, std::function<void(failure const&)> broken, std::string queue_url)
{
    return [to = std::move(to), broken = std::move(broken), queue_url = std::move(queue_url)](
               delivery& d) { return print(*to, broken, queue_url, d); };
}

handler run_for_each(command_work how)
{
    return [at = std::make_shared<command_station>(std::move(how))](delivery& d) { return run_command(at, d); };
}

std::vector<std::string> variables(
    delivery const& d, std::string const& queue_url, std::string const& attributes_file)
{
    auto const time = [](std::optional<wall_time> at) { return at ? iso_time(*at) : std::string(); };
    std::pair<std::string_view, std::string> const all[] = {
        {"QUERN_MESSAGE_ID", std::string(d.id())},
        {"QUERN_RECEIVE_COUNT", std::to_string(d.receive_count())},
        {"QUERN_QUEUE_URL", queue_url},
        {"QUERN_ATTRIBUTES", attributes_file.empty() ? attributes_json(d) : std::string()},
        {"QUERN_ATTRIBUTES_FILE", attributes_file},
        {"QUERN_SENT_AT", time(d.message().sent_at())},
        {"QUERN_FIRST_RECEIVED_AT", time(d.first_received_at())},
        {"QUERN_GROUP", std::string(d.group())},
    };
    std::vector<std::string> out;
    for (auto const& [name, value] : all) {
        auto& line = out.emplace_back(fmt::format("{}={}", name, value));
        std::erase(line, '\0'); // it would end there, and look like another's
    }
    return out;
}

} // namespace quern::app
