#include "consume/consume_handlers.hpp"

#include "common/message_json.hpp"
#include "common/standard_streams.hpp"

#include <quern/aws/detail/shell_command.hpp>

#include <boost/asio/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace quern::app {

namespace asio = boost::asio;

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

asio::awaitable<outcome> run_command(std::string const& command, std::string const& queue_url,
    std::chrono::milliseconds grace, more_variables const& more, delivery& d)
{
    aws::shell_command what(command);
    what.input = d.body();
    what.environment = variables(d, queue_url);
    if (more) std::ranges::move(more(d), std::back_inserter(what.environment));
    what.grace = grace;
    auto const end = co_await aws::run_shell_command(std::move(what));
    if (!end) throw std::runtime_error("the command could not be run: " + describe(end.error()));
    if (end->succeeded()) co_return ack();
    if (end->cancelled) throw boost::system::system_error(asio::error::operation_aborted);
    if (end->signal != 0) throw std::runtime_error(fmt::format("the command was ended by signal {}", end->signal));
    std::string_view const sense = end->status == 127 ? ": not found" : end->status == 126 ? ": not executable" : "";
    throw std::runtime_error(fmt::format("the command ended with status {}{}", end->status, sense));
}

} // namespace

handler print_messages(
    std::shared_ptr<line_writer> to, std::function<void(failure const&)> broken, std::string queue_url)
{
    return [to = std::move(to), broken = std::move(broken), queue_url = std::move(queue_url)](
               delivery& d) { return print(*to, broken, queue_url, d); };
}

handler run_for_each(std::string command, std::string queue_url, std::chrono::milliseconds grace, more_variables more)
{
    return [command = std::move(command), queue_url = std::move(queue_url), grace, more = std::move(more)](
               delivery& d) { return run_command(command, queue_url, grace, more, d); };
}

std::vector<std::string> variables(delivery const& d, std::string const& queue_url)
{
    auto const time = [](std::optional<wall_time> at) { return at ? iso_time(*at) : std::string(); };
    std::pair<std::string_view, std::string> const all[] = {
        {"QUERN_MESSAGE_ID", std::string(d.id())},
        {"QUERN_RECEIVE_COUNT", std::to_string(d.receive_count())},
        {"QUERN_QUEUE_URL", queue_url},
        {"QUERN_ATTRIBUTES", attributes_json(d)},
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
