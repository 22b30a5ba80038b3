#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/complaint.hpp"
#include "common/duration_text.hpp"
#include "common/line_reader.hpp"
#include "common/toml_reader.hpp"
#include "consume/consuming.hpp"
#include "relay/relay_check.hpp"
#include "relay/relay_compat.hpp"
#include "relay/relay_file.hpp"
#include "relay/relay_help.hpp"
#include "relay/relay_preview.hpp"
#include "relay/relay_settings.hpp"
#include "relay/relay_work.hpp"

#include <quern/sqs/queue_reference.hpp>

#include <boost/asio/co_spawn.hpp>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <memory>

namespace quern::app {
namespace {

/// The command line of `quern relay`.
struct relay_line {
    consume_options consume;
    std::string queue, url, config, compat, sqsd_config, sqsd_cron;
    bool check = false, dry_run = false;
    std::map<std::string_view, std::vector<std::string>> given; ///< by the setting's key
    std::map<std::string_view, bool> flags;
    std::vector<std::string> option_keys; ///< in the file
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
    out.option_keys = line.option_keys;
    if (!line.compat.empty()) {
        std::vector<std::string> warnings;
        auto const read =
            read_compat(line.compat, aws::process_environment, all_variable_names(), line.sqsd_config, out, warnings);
        if (!read) return read.error();
        for (auto const& warning : warnings)
            log_line(log_level::warning, warning);
    }
    if (!line.sqsd_cron.empty()) {
        auto const text = text_of_file("--sqsd-cron", line.sqsd_cron);
        if (!text) return text.error();
        auto tasks = read_cron_file(*text, line.sqsd_cron);
        if (!tasks) return tasks.error();
        out.periodic = std::move(*tasks);
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
            out.said[std::string(setting.key)] = value;
            auto const why = setting.set(out, value);
            if (!why.empty())
                return wrong(fmt::format("{} {}", setting.option.empty() ? "URL" : setting.option, why));
        }
    }
    if (auto& tokens = out.relay.oauth2; tokens && tokens->secret_file.empty())
        tokens->secret = aws::process_environment("QUERN_OAUTH2_SECRET");
    if (auto const why = out.conflict(); !why.empty()) return wrong(by_options_of_program(why));
    return out;
}

/// The settings once more, for a relay that runs. What it does not take up is named.
result<relay_settings> settings_again_of(
    command_line const& line, relay_line const& said, relay_settings const& first)
{
    command_line now;
    try {
        if (!read_arguments(now, line.arguments)) return wrong("no longer the same command");
    } catch (usage_error const& e) {
        return wrong(e.what());
    }
    auto out = settings_from(said);
    if (!out) return out;
    if (auto const there = check_files(out->said); !there) return there.error();
    auto names = need_restart(first.said, out->said);
    for (auto const& name : changed_settings(line.said, now.said))
        names.push_back(name);
    if (!names.empty())
        log_line(log_level::warning,
            fmt::format("these settings have changed and need a restart: {}", fmt::join(names, ", ")));
    return out;
}

/// Sends these messages while the work goes on.
void send_periodically(
    session& s, std::string const& queue_url, std::vector<periodic_task> const& tasks, consumer_work& work)
{
    auto const ex = s.io.get_executor();
    auto const sender = std::make_shared<periodic_sender>(ex, s.sqs, queue_url, tasks);
    work.started = [sender, ex, before = std::move(work.started)](consume_work& all) {
        before(all);
        boost::asio::co_spawn(ex, sender->run(), [sender](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
        });
    };
    work.ended = [sender, before = std::move(work.ended)] {
        before();
        sender->end();
    };
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
        auto work = relay_work(s, urls, how, settings, std::move(heard), reread, told);
        if (work && !how.periodic.empty()) send_periodically(s, urls.front(), how.periodic, *work);
        return work;
    };
    how.relay.clock_offset = [&s] { return s.consumers ? s.consumers->clock_offset() : s.sqs.clock_offset(); };
    if (how.checks_health && how.wait_healthy) {
        if (*how.wait_healthy >= std::chrono::seconds(5)) // less needs no word
            log_line(log_level::info,
                fmt::format("waiting until the health check succeeds, {} at most", duration_text(*how.wait_healthy)));
        auto const is_well = co_await wait_until_healthy(s.io, how);
        if (!is_well) co_return complain("--wait-healthy: not healthy yet: " + is_well.error().message);
        if (!*is_well) log_line(log_level::info, "told to end during --wait-healthy: nothing was received");
        if (!*is_well) co_return ok;
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
    if (said.dry_run) return preview(how);
    auto consume = said.consume;
    consume.queues = {how.queue};
    for (auto const& route : how.routes)
        consume.queues.push_back(route.queue);
    if (how.batch > 1 && !consume.idempotency.store.empty())
        return complain("--batch does not go with --idempotency, which guards one message at a time", usage);
    consume.max_in_flight = how.concurrency * how.batch * consume.queues.size();
    if (how.visibility_timeout && consume.visibility_timeout == consumer_options().visibility_timeout)
        consume.visibility_timeout = *how.visibility_timeout;
    if (how.max_age && !consume.max_age) consume.max_age = how.max_age;
    if (how.wait_time && !consume.wait_time) consume.wait_time = std::chrono::seconds(*how.wait_time);
    reread_settings const reread = [&, first = *settings]() { return settings_again_of(line, said, first); };
    auto where = line.where;
    if (where.url.empty()) where.url = how.endpoint;
    if (where.region.empty()) where.region = how.region;
    if (said.check) {
        std::vector<std::string> queues{how.queue};
        for (auto const& other : {consume.poison_queue, how.reply_queue})
            if (!other.empty()) queues.push_back(other);
        auto const code = check(how);
        if (code != ok) return code;
        auto options = client_options_from(where, how.queue, aws::process_environment);
        if (options) {
            session s(std::move(*options));
            return run(s, [&](session& one) { return check_surroundings(one, how, queues); });
        }
        log_line(log_level::warning, "the queues were not looked at: " + options.error().message);
        return ok;
    }
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
        {"--sqsd-config FILE", said->sqsd_config,
            "With --compat sqsd: settings of Elastic Beanstalk's daemon; default /etc/aws-sqsd.d/default.yaml, where "
            "there "
            "is one",
            needs("--compat")},
        {"--sqsd-cron FILE", said->sqsd_cron,
            "With --compat sqsd: send the messages of the periodic tasks in this cron.yaml; one relay of a queue is "
            "to have "
            "it",
            needs("--compat")},
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
        {"--check", said->check,
            "Read settings and files, ask --health-url and for a token once, look whether the queues are there, and "
            "end"},
        {"--dry-run", said->dry_run, "Print the request of a message read from standard input, and end"},
    });
    add_consumer_options(*command, said->consume);
    said->option_keys = command->keys();
    command->has_settings([](std::string_view key) {
        static constexpr std::string_view tables[] = {
            "headers", "rule", "tls", "sign", "breaker", "health", "reply", "oauth2"};
        auto const all = all_relay_settings();
        return std::ranges::count(tables, key) != 0 || std::ranges::count(all, key, &relay_setting::key) != 0;
    });
    command->footer(relay_help);
    when_named(*command, line, [said, &line] { return run_relay(line, *said); });
}

} // namespace quern::app
