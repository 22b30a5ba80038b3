#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/complaint.hpp"
#include "common/line_reader.hpp"
#include "consume/consuming.hpp"
#include "relay/relay_compat.hpp"
#include "relay/relay_file.hpp"
#include "relay/relay_help.hpp"
#include "relay/relay_preview.hpp"
#include "relay/relay_settings.hpp"
#include "relay/relay_work.hpp"

#include <quern/sqs/queue_reference.hpp>

#include <fmt/core.h>

#include <csignal>
#include <map>
#include <memory>

namespace quern::app {
namespace {

/// The command line of `quern relay`.
struct relay_line {
    consume_options consume;
    std::string queue, url, config, compat;
    bool check = false, dry_run = false;
    std::map<std::string_view, std::vector<std::string>> given; ///< by the setting's key
    std::map<std::string_view, bool> flags;
};

failure wrong(std::string why)
{
    return {errc::invalid_option, std::move(why)};
}

/// All that was said, the command line last.
result<relay_settings> settings_from(relay_line const& line)
{
    relay_settings out;
    out.relay.log = to_stderr();
    if (!line.compat.empty()) {
        std::vector<std::string> warnings;
        auto const read = read_compat(line.compat, aws::process_environment, variable_names(), out, warnings);
        if (!read) return read.error();
        for (auto const& warning : warnings)
            log_line(log_level::warning, warning);
    }
    if (!line.config.empty()) {
        if (auto const read = load_relay_settings(line.config, out); !read) return read.error();
    }
    if (!line.queue.empty()) out.queue = line.queue;
    for (auto const& setting : all_relay_settings()) {
        std::vector<std::string> values;
        if (setting.key == "url" && !line.url.empty()) values = {line.url};
        if (auto const found = line.given.find(setting.key); found != line.given.end()) values = found->second;
        if (auto const flag = line.flags.find(setting.key); flag != line.flags.end() && flag->second)
            values = {"true"};
        for (auto const& value : values) {
            auto const why = setting.set(out, value);
            if (!why.empty())
                return wrong(fmt::format("{} {}", setting.option.empty() ? "URL" : setting.option, why));
        }
    }
    if (auto const why = out.conflict(); !why.empty()) return wrong(why);
    return out;
}

boost::asio::awaitable<int> relay_messages(
    session& s, relay_settings how, consume_options const& o, reread_settings const& reread)
{
    // From here on, or a SIGHUP while the service is waited for would end the program.
    auto const told = std::make_shared<boost::asio::signal_set>(s.io, SIGHUP);
    make_work const make = [&](std::vector<std::string> const& urls, consumer_options& settings,
                               std::shared_ptr<consumer_news> heard) {
        if (auto const traces = heard->traces)
            how.relay.trace = [traces](delivery const& d) { return traces->context_of(d.id()); };
        return relay_work(s, urls.front(), how, settings, std::move(heard), reread, told);
    };
    if (how.checks_health && how.wait_healthy) {
        auto const why = co_await wait_until_healthy(s.io.get_executor(), how);
        if (why) co_return complain("--wait-healthy: not healthy yet: " + *why);
    }
    if (!how.reply_queue.empty()) {
        auto const url = co_await sqs::find_queue_url(s.sqs, how.reply_queue);
        if (!url) co_return s.complain(url.error(), "--reply-queue " + how.reply_queue);
        how.relay.reply = [&s, url = *url](
                              delivery const& d, net::response const& a) { return send_reply(s.sqs, url, d, a); };
    }
    auto const code = co_await consume_queues(s, o, make);
    co_return code;
}

int run_relay(command_line const& line, relay_line const& said)
{
    auto const settings = settings_from(said);
    if (!settings) return complain(settings.error());
    auto how = *settings;
    if (said.check) return check(how);
    if (said.dry_run) return preview(how);
    auto consume = said.consume;
    consume.queues = {how.queue};
    if (how.batch > 1 && !consume.idempotency.store.empty())
        return complain("--batch does not go with --idempotency, which guards one message at a time", usage);
    consume.max_in_flight = how.concurrency * how.batch;
    if (how.wait_time && !consume.wait_time) consume.wait_time = std::chrono::seconds(*how.wait_time);
    how.relay.keeps_rejected = !consume.poison_queue.empty();
    reread_settings const reread = [&] { return settings_from(said); };
    auto where = line.where;
    if (where.url.empty()) where.url = how.endpoint;
    if (where.region.empty()) where.region = how.region;
    return run(where, how.queue, [&](session& s) { return relay_messages(s, how, consume, reread); });
}

} // namespace

void add_relay(command& app, command_line& line)
{
    auto const said = std::make_shared<relay_line>();
    auto* const command = app.add_subcommand("relay", "Bring each message to a web service");
    command->add({
        {"QUEUE", said->queue, "URL, name or ARN"},
        {"URL", said->url, "The web service; https://host/path?query, with places to fill, see below"},
        {"--config FILE", said->config, "TOML file with settings, see docs/guide/relay.md"},
        {"--compat PROGRAM", said->compat, "Take the place of carrier or sqsd: read its variables, see below",
            one_of({"carrier", "sqsd"})},
    });
    for (auto const& setting : all_relay_settings()) {
        if (setting.option.empty()) continue;
        if (setting.type.empty()) {
            command->add({setting.option, said->flags[setting.key], setting.help});
        } else {
            auto const name = fmt::format("{} {}", setting.option, setting.type);
            command->add({name, said->given[setting.key], setting.help, one_each_time()});
        }
    }
    command->add({
        {"--check", said->check, "Read settings and files, ask --health-url once, and end"},
        {"--dry-run", said->dry_run, "Print the request of a message read from standard input, and end"},
    });
    add_consumer_options(*command, said->consume);
    command->footer(relay_help);
    when_named(*command, line, [said, &line] { return run_relay(line, *said); });
}

} // namespace quern::app
