// quern: send to, consume and watch SQS queues from the shell; a local broker; a demonstration.

#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/complaint.hpp"
#include "common/standard_streams.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr char const* footer = R"(Examples:
  quern demo                                           see it work, in a few seconds, without any account
  quern broker --port 9324                             SQS on this machine
  export AWS_ENDPOINT_URL_SQS=http://127.0.0.1:9324    from now on talk to that one
  quern queue create orders
  seq 1000 | quern send orders                         one message a line
  quern consume orders --until-empty > orders.jsonl    one JSON line a message
  quern consume orders --exec ./handle-order           one run of a command a message
  quern relay orders http://localhost:8080/hook        one request of a web service a message
  quern queue attributes orders
  quern idempotency table create seen                  for `quern consume orders --idempotency ddb:seen`
  quern redrive orders-dlq --canary 10:5m              dead letters, back to where they came from
  quern alarms put --queue orders --topic ARN          wake somebody for dead letters
  quern consume orders --admin-port 9090               with a page to watch it, and probes

The options above may also stand after the command. `quern COMMAND --help` tells more about each.

Every option may also stand in the file of --config (drain_deadline = "45s" in the table [consume] is --drain-deadline 45s),
and in a variable: QUERN_REGION, QUERN_CONSUME_DRAIN_DEADLINE. Variables go before the file, the command line before both.

A queue is named by its URL or, where that can be looked up, by its bare name. A URL that does not lead to Amazon is used
as the endpoint too, unless another is given.

Environment:
  QUERN_CONFIG                                         as --config
  QUERN_OPTION, QUERN_COMMAND_OPTION                   as --option, and --option of that command
  AWS_ENDPOINT_URL_SQS, AWS_ENDPOINT_URL               where SQS is, as --endpoint
  AWS_ENDPOINT_URL_DYNAMODB                            where DynamoDB is
  AWS_REGION, AWS_DEFAULT_REGION                       as --region; us-east-1 at an endpoint that is not Amazon's
  AWS_PROFILE, AWS_CONFIG_FILE                         where what is not said here comes from; ~/.aws/config
  AWS_CA_BUNDLE                                        PEM file of the authorities to trust, instead of the system's
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY                    the way to it; lower case too
  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,            what requests are signed with, unless --profile names a profile.
  AWS_SESSION_TOKEN                                    Else the profile of AWS_PROFILE, web identity, the profile default,
                                                       the container, the instance; at an endpoint that is not Amazon's,
                                                       and with no profile named, test and test

Exit status:
  0  done; for consume and relay: everything received was settled
  1  failed, the reason is on standard error; for send: some messages; for demo: a message was lost
  2  the command line or the environment is wrong
  3  consume, relay, redrive: the drain left something behind that SQS delivers again later; --report says what
  4  consume, relay: messages were rejected and deleted unhandled: no --poison-queue, no dead-letter queue
  5  redrive: a rule stopped the run, or a refusal that would not pass)";

} // namespace

namespace quern::app {

std::unique_ptr<program> read_arguments(command_line& line, std::vector<std::string> arguments)
{
    auto out = std::make_unique<program>(
        "quern", "Quern consumes Amazon SQS queues.", "quern " QUERN_VERSION " (" QUERN_BUILD ")");
    auto& app = *out;
    app.add({
        {"--endpoint URL", line.where.url, "Where SQS is: http://127.0.0.1:9324; default: Amazon's, in the region"},
        {"--region NAME", line.where.region, "The region: eu-west-1"},
        {"--profile NAME", line.where.profile, "The profile of the shared config file; default: AWS_PROFILE"},
        {"--config FILE", line.config,
            "Options in TOML, those of a command in a table of its name; the command line says the last word"},
        {"--log-level", line.log_level, "Log to standard error what is at least so serious",
            one_of({"debug", "info", "warning", "error", "off"}), shows_default()},
        {"--log-format", line.log_format,
            "Form of the log: lines for people, JSON, or JSON of the Elastic Common Schema",
            one_of({"text", "json", "ecs"}), shows_default()},
    });
    app.footer(footer);
    for (auto* const add : {add_broker, add_queue, add_send, add_consume, add_relay, add_redrive, add_idempotency,
             add_alarms, add_demo, add_sim, add_top, add_health, add_init})
        add(app, line);
    line.arguments = arguments;
    try {
        if (!app.parse(std::move(arguments))) return nullptr;
        if (!line.run) throw usage_error("A command is required");
    } catch (usage_error const& e) {
        throw usage_error(fmt::format("{}; see {} --help", e.what(), app.named()));
    }
    line.said = app.said_elsewhere();
    return out;
}

} // namespace quern::app

namespace {

int run(std::vector<std::string> arguments)
{
    using namespace quern::app;
    command_line line;
    try {
        auto const app = read_arguments(line, std::move(arguments));
        if (!app) return ok;
        start_log(line.log_level, line.log_format);
        for (auto const& one : app->warnings())
            log_line(quern::log_level::warning, one);
        return line.run();
    } catch (usage_error const& e) {
        return complain(e.what(), usage);
    } catch (std::exception const& e) {
        return complain(e.what());
    }
}

} // namespace

int main(int argc, char* argv[])
{
    quern::app::hold_standard_streams();
    std::signal(SIGPIPE, SIG_IGN); // a broken pipe is an error of the write
    std::signal(SIGCHLD, SIG_DFL); // or the end of a command is not to be known, where who started us ignores it
    int const code = run({argv + std::min(argc, 1), argv + argc});
    auto const written = quern::app::flush_output();
    if (code == quern::app::ok && !written) return quern::app::complain(describe(written.error()));
    return code;
}
