#include <quern/aws/credentials/detail/credential_json.hpp>
#include <quern/aws/credentials/detail/credential_process.hpp>
#include <quern/aws/detail/shell_command.hpp>

namespace quern::aws::detail {
namespace {

failure refused(std::string const& whose, std::string const& why)
{
    return failure(errc::no_credentials, whose + ": " + why, true);
}

} // namespace

boost::asio::awaitable<result<credentials>> process_credentials(std::string text, std::string whose)
{
    shell_command command(std::move(text));
    command.keep_output = true;
    command.limit = std::chrono::minutes(1);
    auto const end = co_await run_shell_command(std::move(command));
    if (!end) co_return refused(whose, end.error().message + ": " + end.error().code.message());
    if (end->cancelled) co_return failure(errc::stopped, "cancelled");
    if (end->timed_out) co_return refused(whose, "has not ended within a minute");
    if (end->signal != 0) co_return refused(whose, "was ended by signal " + std::to_string(end->signal));
    if (end->status != 0) {
        co_return refused(
            whose, "returned " + std::to_string(end->status) + "; what it wrote to its standard error may say why");
    }
    auto const printed = read_flat_json(end->output);
    if (!printed) co_return refused(whose, "did not print a JSON object");
    if (printed->get("version") != "1") co_return refused(whose, "printed a JSON object without \"Version\": 1");
    co_return credentials_in(*printed, whose);
}

} // namespace quern::aws::detail
