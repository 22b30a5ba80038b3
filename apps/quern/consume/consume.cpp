#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/rejects_nothing.hpp"
#include "consume/command_check.hpp"
#include "consume/consume_handlers.hpp"
#include "consume/consuming.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <unistd.h>

namespace quern::app {
namespace {

namespace asio = boost::asio;

/// The variables that tell a command of its message's trace; null where there are no traces.
more_variables traces_of(std::shared_ptr<trace_export> const& traces)
{
    if (!traces) return {};
    return [traces](delivery const& d) {
        auto const its = traces->context_of(d.id());
        return its ? trace_variables(*its) : std::vector<std::string>();
    };
}

result<consumer_work> work_on(
    consume_options const& o, bool several, asio::any_io_executor ex, std::shared_ptr<consumer_news> const& heard)
{
    consumer_work out;
    out.program = "quern consume";
    if (o.exec.empty()) {
        auto const to = std::make_shared<line_writer>(std::move(ex), STDOUT_FILENO);
        auto const broken = [heard](failure const& why) {
            heard->end_with(describe(why) + "; what was not written was not acknowledged and comes again");
        };
        out.handle = [to, broken, several](std::string const& url) {
            return print_messages(to, broken, several ? url : std::string());
        };
    } else {
        // A handler is cancelled at nine tenths of a drain: the command has to be gone before its end.
        out.handle = [&o, heard](std::string const& url) {
            command_work how;
            how.command = o.exec;
            how.queue_url = url;
            how.grace = o.drain_deadline / 20;
            how.exits = exit_rule_from(o);
            how.more = traces_of(heard->traces);
            return run_for_each(std::move(how));
        };
    }
    return out;
}

/// The settings once more, as files and environment have them now. Null where no file was named.
std::function<result<settings_again>()> read_again_of(command_line const& first)
{
    if (first.config.empty()) return {};
    return [&first]() -> result<settings_again> {
        static constexpr std::string_view can_be_turned[] = {
            "burst", "handler-concurrency", "max-bytes-in-flight", "max-in-flight", "rate"};
        command_line now;
        try {
            if (!read_arguments(now, first.arguments) || !now.consume)
                return failure(errc::invalid_option, "--config: no longer the same command");
        } catch (usage_error const& e) {
            return failure(errc::invalid_option, e.what());
        }
        if (auto const why = conflict(*now.consume); !why.empty()) return failure(errc::invalid_option, why);
        settings_again out;
        out.of = first.config;
        auto const made = options_from(*now.consume);
        if (auto const wrong = made.limits.validate()) return *wrong;
        out.limits = made.limits;
        for (auto const& name : changed_settings(first.said, now.said))
            (std::ranges::count(can_be_turned, name) != 0 ? out.turned : out.need_restart).push_back(name);
        return out;
    };
}

asio::awaitable<int> consume(session& s, consume_options const& o, command_line const& line)
{
    if (auto const why = conflict(o); !why.empty()) co_return complain(why, usage);
    if (!o.exec.empty()) {
        auto const missing = co_await missing_command(o.exec);
        if (!missing.empty()) co_return complain("--exec: " + missing, usage);
    }
    make_work const make = [&](std::vector<std::string> const& urls, consumer_options& settings,
                               std::shared_ptr<consumer_news> heard) {
        auto const exits = exit_rule_from(o);
        auto const rejects = settings.max_age || settings.max_tries || exits.may_reject();
        if (exits.may_reject()) settings.on_malformed = malformed_policy::reject;
        if (!rejects) settings.log = without_word_of_rejects(std::move(settings.log));
        auto work = work_on(o, urls.size() != 1, s.io.get_executor(), heard);
        if (work) work->read_again = read_again_of(line);
        return work;
    };
    auto const code = co_await consume_queues(s, o, make);
    co_return code;
}

} // namespace

void add_consume(command& app, command_line& line)
{
    auto const o = std::make_shared<consume_options>();
    auto* const command = app.add_subcommand("consume", "Print each message, or run a command for each");
    add_options(*command, *o);
    line.consume = o;
    when_named(*command, line, [o, &line] {
        return run(line.where, o->queues.front(), [o, &line](session& s) { return consume(s, *o, line); });
    });
}

} // namespace quern::app
