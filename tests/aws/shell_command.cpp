#include "support/run.hpp"
#include "support/wait_until.hpp"

#include <quern/aws/credentials/detail/credential_process.hpp>
#include <quern/aws/detail/shell_command.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>

namespace asio = boost::asio;
namespace aws = quern::aws;
using namespace quern;
using namespace quern::aws::detail;
using namespace std::chrono_literals;

namespace {

result<command_end> end_of(aws::detail::shell_command command)
{
    return test::run(run_shell_command(std::move(command)));
}

aws::detail::shell_command kept(std::string text)
{
    aws::detail::shell_command command(std::move(text));
    command.keep_output = true;
    return command;
}

/// It is not gone, and is no zombie that nobody has reaped.
bool runs(pid_t process)
{
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string const state(std::istreambuf_iterator<char>(file), {});
    return !state.empty() && state.find(") Z ") == state.npos;
}

result<aws::credentials> printed_by(std::string command)
{
    return test::run(process_credentials(std::move(command), "it"));
}

} // namespace

BOOST_AUTO_TEST_SUITE(shell_command)

BOOST_AUTO_TEST_CASE(input_environment_and_output_pass_through)
{
    auto command = kept("cat; echo $A; env | grep -c '^A='");
    command.input = "in ";
    command.environment = {"A=b c"};
    auto const end = end_of(std::move(command));
    BOOST_REQUIRE(end.has_value());
    BOOST_TEST(end->succeeded());
    BOOST_TEST(end->output == "in b c\n1\n");
}

BOOST_AUTO_TEST_CASE(what_it_returned_or_was_ended_by_is_told)
{
    BOOST_TEST(end_of(kept("exit 3"))->status == 3);
    BOOST_TEST(end_of(kept("kill -9 $$"))->signal == SIGKILL);
    BOOST_TEST(end_of(kept("/no/such/program 2>/dev/null"))->status == 127);
}

BOOST_AUTO_TEST_CASE(a_command_over_its_limit_is_ended)
{
    auto command = kept("trap '' TERM; sleep 600 & wait; wait; sleep 600");
    command.limit = 50ms;
    command.grace = 50ms;
    auto const end = end_of(std::move(command));
    BOOST_REQUIRE(end.has_value());
    BOOST_TEST(end->timed_out);
    BOOST_TEST(!end->cancelled);
    BOOST_TEST(!end->succeeded());
}

// The shell ended at SIGTERM, and what it had started and did not heed it lived on.
BOOST_AUTO_TEST_CASE(what_a_command_has_started_does_not_outlive_it_when_it_is_over_its_limit)
{
    auto command = kept("(trap '' TERM; sleep 600) & echo $!; wait");
    command.limit = 50ms;
    command.grace = 50ms;
    auto const end = end_of(std::move(command));
    BOOST_REQUIRE(end.has_value());
    BOOST_TEST(end->signal == SIGTERM);
    auto const child = static_cast<pid_t>(std::stol(end->output));
    test::wait_until([&] { return !runs(child); }); // SIGKILL is on its way
}

BOOST_AUTO_TEST_CASE(a_cancelled_command_is_ended)
{
    asio::io_context io;
    asio::cancellation_signal stop;
    std::optional<result<command_end>> end;
    auto const done = [&](std::exception_ptr thrown, result<command_end> value) {
        if (thrown) std::rethrow_exception(thrown);
        end = std::move(value);
    };
    asio::co_spawn(io, run_shell_command(kept("sleep 600")), asio::bind_cancellation_slot(stop.slot(), done));
    io.poll();
    stop.emit(asio::cancellation_type::terminal);
    io.restart();
    io.run();
    BOOST_REQUIRE(end.has_value());
    BOOST_TEST((*end)->cancelled);
    BOOST_TEST((*end)->signal == SIGTERM);
}

// A program that ended while a command ran left it behind, and a context that went before its program a zombie.
BOOST_AUTO_TEST_CASE(a_command_does_not_outlive_its_context)
{
    {
        asio::io_context io;
        auto const done = [](std::exception_ptr, result<command_end> const&) { BOOST_TEST(false); };
        asio::co_spawn(io, run_shell_command(kept("sleep 600")), done);
        io.poll();
        BOOST_TEST(::waitpid(-1, nullptr, WNOHANG) == 0); // it runs
    }
    BOOST_TEST(::waitpid(-1, nullptr, WNOHANG) == -1);
    BOOST_TEST(errno == ECHILD);
}

BOOST_AUTO_TEST_CASE(more_output_than_allowed_is_a_failure)
{
    auto command = kept("printf 12345");
    command.output_limit = 5;
    BOOST_TEST(end_of(command)->output == "12345");
    command.output_limit = 4;
    BOOST_TEST(end_of(command).error().code == std::errc::file_too_large);
    auto endless = kept("yes"); // its writes are refused: it takes no memory, and ends
    BOOST_TEST(end_of(endless).error().code == std::errc::file_too_large);
}

// Whoever ignores SIGCHLD, or inherits that, never learns how a command ended: that is no success.
BOOST_AUTO_TEST_CASE(a_command_whose_end_nobody_knows_has_failed)
{
    auto const before = std::signal(SIGCHLD, SIG_IGN);
    auto const end = end_of(kept("exit 1"));
    std::signal(SIGCHLD, before);
    BOOST_TEST(end.has_error());
}

BOOST_AUTO_TEST_CASE(a_credential_process_prints_credentials)
{
    auto const found = printed_by(R"(echo '{"Version":1,"AccessKeyId":"A","SecretAccessKey":"s"}' | cat)");
    BOOST_TEST(*found == (aws::credentials{"A", "s", ""}));
}

BOOST_AUTO_TEST_CASE(a_credential_process_that_fails_is_told_without_what_it_printed)
{
    BOOST_TEST(printed_by("exit 1").error().message.starts_with("it: returned 1;"));
    BOOST_TEST(printed_by("kill -9 $$").error().message == "it: was ended by signal 9");
    BOOST_TEST(printed_by("echo hidden").error().message == "it: did not print a JSON object");
    BOOST_TEST(printed_by("echo '{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"hidden\"}'").error().message ==
        "it: printed a JSON object without \"Version\": 1");
    BOOST_TEST(
        printed_by("head -c 70000 /dev/zero").error().message == "it: the output of a command: File too large");
}

BOOST_AUTO_TEST_SUITE_END()
