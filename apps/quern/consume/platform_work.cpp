#include "consume/platform_work.hpp"

#include "common/command_line.hpp"
#include "common/complaint.hpp"
#include "common/flag_source.hpp"
#include "common/flag_text.hpp"

#include <quern/core/detail/text/date.hpp>
#include <quern/flags/raiser.hpp>

#include <boost/asio/co_spawn.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace quern::app {

using namespace quern::detail;
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

std::string check_raised(std::string const& text)
{
    auto const at = parse_flag(text);
    if (!at) return at.error().message;
    bool const is_deployed = at->where == flag_place::kind::configuration || at->where == flag_place::kind::agent;
    return is_deployed ? "a configuration is deployed, and cannot be written from here: use ssm:, ddb: or file:" : "";
}

/// Tells the flag of each outage that the breaker of all suspects.
class outage_teller final : public forwarding_observer {
public:
    outage_teller(std::shared_ptr<flags::raiser> to, std::shared_ptr<observer> next)
        : forwarding_observer(std::move(next)), to_(std::move(to))
    {}

    void breaker_changed(std::string_view dependency, policy::breaker::phase from, policy::breaker::phase to) override
    {
        forwarding_observer::breaker_changed(dependency, from, to);
        if (dependency.empty()) to_->outage(to == policy::breaker::phase::half_open);
    }

private:
    std::shared_ptr<flags::raiser> const to_;
};

} // namespace

void add_platform_options(command& to, platform_options& o)
{
    to.add({
        {"--protect-task", o.protect_task,
            "In an ECS task: have ECS not end it to scale in while messages are handled; needs "
            "ecs:UpdateTaskProtection"},
        {"--drain-on-notice KIND", o.drain_on_notice,
            "Drain and end once the EC2 instance is told of its end: spot, rebalance or scale-in; may be given "
            "again; "
            "default: only at a signal",
            one_of_told({"spot", "rebalance", "scale-in"}), one_each_time()},
        {"--target-dwell DURATION", o.target_dwell,
            "Tell how many processes like this one the queue needs so that no message waits longer: in the metrics, "
            "and "
            "with --admin-port at /wanted; default: nobody tells",
            duration_within(1s, 24h)},
        {"--raise-flag FLAG", o.raise_flag,
            "Write open to this flag while an outage is suspected here, and closed when it is over, for others, as "
            "`quern "
            "redrive --breaker-flag`: file:PATH, ssm:NAME or ddb:TABLE/KEY[#attribute]; default: none",
            check(check_raised)},
    });
}

struct platform_work::station {
    explicit station(session& s) : io(s.io), sqs(s.sqs), ended(real_clock(), io.get_executor()) {}

    asio::io_context& io;
    sqs::api& sqs;
    std::shared_ptr<services::task_protection> protection;
    std::shared_ptr<flags::raiser> raiser; // null: no flag
    std::optional<services::notice_watch_options> notices;
    std::optional<services::notice_watch> watch;
    std::optional<policy::replica_options> advice;
    std::mutex lock;                                   // of `advisor` while the admin port may answer
    std::shared_ptr<metrics::replica_advisor> advisor; // null until the queue's consumer is made
    bool advising = false;
    alarm ended;
};

namespace {

void warn(std::string const& what)
{
    log_line(log_level::warning, what);
}

result<void> watch_for_notices(
    std::optional<services::notice_watch_options>& out, std::vector<std::string> const& kinds)
{
    if (kinds.empty()) return {};
    auto service = aws::find_instance_service(aws::process_environment, nullptr);
    if (!service) return failure(errc::invalid_option, "--drain-on-notice: " + service.error().message);
    if (!*service)
        return failure(
            errc::invalid_option, "--drain-on-notice: AWS_EC2_METADATA_DISABLED forbids to ask the instance");
    out.emplace();
    out->service = std::move(**service);
    out->trouble = warn;
    out->kinds.clear();
    for (auto const& name : kinds)
        out->kinds.push_back(services::notice_kind(name).value());
    return {};
}

asio::awaitable<outcome> run_protected(
    std::shared_ptr<services::task_protection> by, handler const& next, delivery& d)
{
    auto const held = co_await by->hold();
    auto out = co_await next(d);
    co_return out;
}

asio::awaitable<std::vector<outcome>> run_all_protected(
    std::shared_ptr<services::task_protection> by, batch_handler const& next, deliveries all)
{
    auto const held = co_await by->hold();
    auto out = co_await next(all);
    co_return out;
}

} // namespace

platform_work::~platform_work() = default;

result<std::unique_ptr<platform_work>> platform_work::to(session& s, platform_options const& o)
{
    auto const at = std::make_shared<station>(s);
    if (o.protect_task) {
        auto options = services::task_protection_options::from();
        if (!options)
            return failure(errc::invalid_option, "--protect-task: this is no ECS task: ECS_AGENT_URI is not set");
        options->trouble = warn;
        if (auto const wrong = options->validate()) return *wrong;
        at->protection = std::make_shared<services::task_protection>(s.io.get_executor(), std::move(*options));
    }
    auto const notices = watch_for_notices(at->notices, o.drain_on_notice);
    if (!notices) return notices.error();
    if (!o.raise_flag.empty()) {
        auto flag = open_flag(s, "--raise-flag", o.raise_flag, 10s);
        if (!flag) return flag.error();
        at->raiser = std::make_shared<flags::raiser>(s.io.get_executor(), std::move(*flag), warn);
    }
    if (o.target_dwell) at->advice.emplace().target_dwell = *o.target_dwell;
    return std::unique_ptr<platform_work>(new platform_work(at));
}

handler platform_work::wrap(handler inner) const
{
    if (!at_->protection) return inner;
    auto const next = std::make_shared<handler>(std::move(inner));
    return [by = at_->protection, next](delivery& d) { return run_protected(by, *next, d); };
}

batch_handler platform_work::wrap(batch_handler inner) const
{
    if (!at_->protection || !inner) return inner;
    auto const next = std::make_shared<batch_handler>(std::move(inner));
    return [by = at_->protection, next](deliveries all) { return run_all_protected(by, *next, all); };
}

std::shared_ptr<observer> platform_work::observe(std::string const& url, std::shared_ptr<observer> next)
{
    if (at_->raiser) next = std::make_shared<outage_teller>(at_->raiser, std::move(next));
    if (!at_->advice) return next;
    metrics::replica_advisor_options options;
    options.rule = *at_->advice;
    auto const advisor =
        std::make_shared<metrics::replica_advisor>(at_->io.get_executor(), url, std::move(options), std::move(next));
    std::lock_guard const held(at_->lock);
    at_->advisor = advisor;
    return advisor;
}

std::function<admin::wanted_processes()> platform_work::wanted() const
{
    if (!at_->advice) return {};
    return [at = std::weak_ptr(at_)] {
        admin::wanted_processes out;
        auto const here = at.lock();
        if (!here) return out;
        std::lock_guard const held(here->lock);
        if (!here->advisor) return out;
        auto said = here->advisor->advice();
        out.replicas = said.replicas;
        out.text = std::move(said.text);
        return out;
    };
}

void platform_work::show(telemetry::source_labels const& labels, metrics::collection& in) const
{
    if (!at_->advisor) return;
    at_->advisor->label(labels);
    in.add(at_->advisor);
}

asio::awaitable<void> platform_work::begin(
    consume_work const& all, std::chrono::milliseconds limit, std::function<void(std::chrono::milliseconds)> drain)
{
    if (at_->protection) co_await at_->protection->begin();
    if (at_->notices) {
        auto const told = [limit, drain](services::instance_notice const& n) {
            auto const within = services::drain_within(n, limit, real_clock().wall());
            log_line(log_level::warning,
                fmt::format("draining: the instance was told of its end: {}{}", services::name_of(n.what),
                    n.at ? " at " + text::rfc3339(*n.at) : std::string()));
            drain(within);
        };
        at_->watch.emplace(at_->io.get_executor(), *at_->notices, told);
        at_->watch->begin();
    }
    if (!at_->advisor) co_return;
    at_->advising = true;
    auto const done = [at = at_](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
        at->advising = false;
        at->ended.ring();
    };
    asio::co_spawn(at_->io, at_->advisor->run(at_->sqs, all.queues().front().of), done);
}

asio::awaitable<void> platform_work::end()
{
    auto const at = at_;
    at->watch.reset();
    if (at->advisor) at->advisor->end();
    while (at->advising)
        co_await at->ended.wait();
    if (at->raiser) co_await at->raiser->end();
    if (at->protection) co_await at->protection->end();
}

} // namespace quern::app
