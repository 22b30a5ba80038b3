#include "consume_handlers.hpp"

#include "message_json.hpp"

#include <quern/aws/shell_command.hpp>

#include <boost/asio/error.hpp>

#include <fmt/core.h>

#include <stdexcept>

namespace quern::app {

namespace asio = boost::asio;

namespace {

asio::awaitable<outcome> print(line_writer& to, std::function<void(failure const&)> const& broken, delivery& d)
{
    auto line = json_line(d);
    auto const written = co_await to.write(std::move(line));
    if (written) co_return ack();
    broken(written.error());
    co_return release();
}

asio::awaitable<outcome> run_command(
    std::string const& command, std::string const& queue_url, std::chrono::milliseconds grace, delivery& d)
{
    aws::shell_command what(command);
    what.input = d.body();
    what.environment = variables(d, queue_url);
    what.grace = grace;
    auto const end = co_await aws::run_shell_command(std::move(what));
    if (!end) throw std::runtime_error("the command could not be run: " + describe(end.error()));
    if (end->succeeded()) co_return ack();
    if (end->cancelled) throw boost::system::system_error(asio::error::operation_aborted);
    if (end->signal != 0) throw std::runtime_error(fmt::format("the command was ended by signal {}", end->signal));
    throw std::runtime_error(fmt::format("the command ended with status {}", end->status));
}

} // namespace

handler print_messages(std::shared_ptr<line_writer> to, std::function<void(failure const&)> broken)
{
    return [to = std::move(to), broken = std::move(broken)](delivery& d) { return print(*to, broken, d); };
}

handler run_for_each(std::string command, std::string queue_url, std::chrono::milliseconds grace)
{
    return [command = std::move(command), queue_url = std::move(queue_url), grace](
               delivery& d) { return run_command(command, queue_url, grace, d); };
}

std::vector<std::string> variables(delivery const& d, std::string const& queue_url)
{
    std::vector<std::string> out{
        fmt::format("QUERN_MESSAGE_ID={}", d.id()),
        fmt::format("QUERN_RECEIVE_COUNT={}", d.receive_count()),
        "QUERN_QUEUE_URL=" + queue_url,
        "QUERN_ATTRIBUTES=" + attributes_json(d),
    };
    if (auto const at = d.message().sent_at()) out.push_back("QUERN_SENT_AT=" + iso_time(*at));
    if (auto const at = d.first_received_at()) out.push_back("QUERN_FIRST_RECEIVED_AT=" + iso_time(*at));
    if (!d.group().empty()) out.push_back(fmt::format("QUERN_GROUP={}", d.group()));
    return out;
}

} // namespace quern::app
