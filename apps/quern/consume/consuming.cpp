#include "consume/consuming.hpp"

#include "common/complaint.hpp"
#include "common/depth.hpp"
#include "common/flag_source.hpp"
#include "common/on_signal.hpp"
#include "common/report_file.hpp"
#include "common/service_manager.hpp"
#include "common/standard_streams.hpp"
#include "consume/consume_work.hpp"
#include "consume/fleet_work.hpp"
#include "consume/message_log.hpp"
#include "consume/metrics_export.hpp"
#include "consume/platform_work.hpp"
#include "consume/settings_file.hpp"
#include "consume/turning.hpp"
#include "consume/vital_watch.hpp"

#include <quern/core/detail/printable.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

namespace quern::app {

using namespace quern::detail;

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

std::chrono::milliseconds left_until(tick at)
{
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(at - real_clock().now()), 100ms);
}

/// A run, from its options to its exit code. Each step returns `ok`, or the code of its complaint.
class consume_run {
public:
    consume_run(session& s, consume_options const& o)
        : s_(s), o_(o), limit_(o.drain_deadline), settings_(options_from(o)), base_(settings_.limits),
          at_first_(base_), heard_(std::make_shared<consumer_news>(s.io.get_executor()))
    {}

    asio::awaitable<int> find_queues();
    int read_files();
    asio::awaitable<int> prepare(make_work const&);
    int open_doors();
    asio::awaitable<int> consume();

private:
    std::shared_ptr<observer> observer_of(std::string const& url);
    void follow_signals();
    void probe(consumer&, std::string const& name);
    void read_limits_again();
    void show_numbers_of(std::string const& url);
    void begin();
    asio::awaitable<void> until_drained();
    asio::awaitable<bool> all_empty(std::vector<empty_watch>&);
    asio::awaitable<void> end();
    int judge();
    asio::awaitable<int> complain_of_end();
    bool has_one() const { return urls_.size() == 1; }

    session& s_;
    consume_options const& o_;
    std::chrono::milliseconds const limit_; // of a drain
    std::vector<std::string> urls_;
    consumer_options settings_;
    consumer_limits const base_; // as the command line says
    consumer_limits at_first_;
    std::optional<report_file> report_;
    std::shared_ptr<consumer_news> const heard_;
    consumer_work job_;
    std::shared_ptr<idempotency_work> once_;
    std::unique_ptr<platform_work> platform_;
    std::unique_ptr<metrics_export> numbers_; // null: nobody wants them
    std::unique_ptr<fleet_work> fleet_;       // null: limits are this process's own
    std::unique_ptr<admin::host> admin_;      // null: none is wanted
    std::optional<consume_work> all_;
    std::shared_ptr<vital_watch> vitals_;
    service_manager manager_{s_.io.get_executor()};
    std::vector<on_signal> signals_; // as long as there are consumers to ask and to turn
};

asio::awaitable<int> consume_run::find_queues()
{
    for (auto const& queue : o_.queues) {
        auto const url = co_await existing_queue(s_.sqs, queue, o_.until_empty);
        if (!url) co_return s_.complain(url.error(), queue);
        if (std::ranges::find(urls_, *url) != urls_.end())
            co_return complain("the queue " + queue + " is named twice", usage);
        urls_.push_back(*url);
    }
    if (!has_one()) settings_.log = naming_queues(std::move(settings_.log));
    if (o_.poison_queue.empty()) co_return ok;
    auto const poison = co_await existing_queue(s_.sqs, o_.poison_queue);
    if (!poison) co_return s_.complain(poison.error(), "--poison-queue " + o_.poison_queue);
    if (std::ranges::find(urls_, *poison) != urls_.end())
        co_return complain("--poison-queue is the queue itself: what is rejected would come again", usage);
    settings_.poison_queue = *poison;
    co_return ok;
}

int consume_run::read_files()
{
    if (!o_.settings.empty()) {
        auto const found = load_limits(o_.settings, base_);
        if (!found) return complain(found.error());
        at_first_ = *found;
    }
    if (!o_.flag.empty()) {
        auto& flag = settings_.outage.flag.emplace(flag_options_from(o_));
        auto source =
            open_flag(s_, "--flag", o_.flag, std::chrono::duration_cast<std::chrono::seconds>(flag.interval));
        if (!source) return complain(source.error());
        flag.source = std::move(*source);
    }
    if (!o_.fleet.empty()) {
        auto leased = fleet_work::to(s_, o_.fleet, fleet_budget_of(o_.rate, o_.fleet_concurrency));
        if (!leased) return complain(leased.error());
        fleet_ = std::move(*leased);
    }
    auto opened = open_report(o_.report);
    if (!opened) return complain_of_report(o_.report, opened.error());
    if (*opened) report_.emplace(std::move(**opened));
    return ok;
}

/// The work, and what guards it.
asio::awaitable<int> consume_run::prepare(make_work const& make)
{
    auto traced = trace_export::to(s_, o_.traces);
    if (!traced) co_return complain(traced.error());
    heard_->traces = std::move(*traced);
    auto job = make(urls_, settings_, heard_);
    if (!job) co_return complain(job.error());
    job_ = std::move(*job);
    if (!o_.idempotency.store.empty()) {
        auto made = co_await idempotency_work::make(s_, o_.idempotency);
        if (!made) co_return complain(made.error());
        once_ = std::move(*made);
        once_->add_attributes(settings_);
        job_.handle = [once = once_, inner = job_.handle](
                          std::string const& url) { return once->wrap(url, inner(url)); };
    }
    auto platform = platform_work::to(s_, o_.platform);
    if (!platform) co_return complain(platform.error());
    platform_ = std::move(*platform);
    if (job_.handle_many)
        job_.handle_many = [this, inner = job_.handle_many](
                               std::string const& url) { return platform_->wrap(inner(url)); };
    else
        job_.handle = [this, inner = job_.handle](std::string const& url) { return platform_->wrap(inner(url)); };
    if (auto const wrong = settings_.validate()) co_return complain(*wrong);
    co_return ok;
}

/// The ways out: metrics, the client of the consumers, the admin port.
int consume_run::open_doors()
{
    auto exported = metrics_export::to(s_, o_.metrics, o_.admin.port.has_value());
    if (!exported) return complain(exported.error());
    numbers_ = std::move(*exported);
    auto client =
        consume_client_options(s_.options, s_.sqs.credentials(), settings_, urls_.size(), !o_.settings.empty());
    if (numbers_) client.observer = numbers_->of_client();
    s_.consumers.emplace(s_.io.get_executor(), std::move(client));
    if (urls_.size() > at_first_.max_in_flight)
        return complain(fmt::format("--max-in-flight must be at least {}, one for each queue", urls_.size()), usage);
    std::function<telemetry::snapshot()> page;
    if (numbers_) page = [numbers = numbers_.get()] { return numbers->all().snapshot(); };
    auto door = open_admin_port(o_.admin, job_.program, s_.io.get_executor(), std::move(page), platform_->wanted());
    if (!door) return complain(door.error());
    admin_ = std::move(*door);
    return ok;
}

std::shared_ptr<observer> consume_run::observer_of(std::string const& url)
{
    auto its = settings_.observer;
    if (numbers_) its = numbers_->of_queue(url);
    if (!o_.log_messages.empty()) {
        auto const level = o_.log_messages == "info" ? log_level::info : log_level::debug;
        its = std::make_shared<message_log>(url, level, settings_.log, std::move(its));
    }
    if (heard_->traces) its = heard_->traces->of_queue(url, std::move(its));
    its = platform_->observe(url, std::move(its));
    return admin_ ? admin_->observe(url, std::move(its)) : its;
}

asio::awaitable<int> consume_run::consume()
{
    sqs::api& api = heard_->traces ? heard_->traces->around(*s_.consumers) : *s_.consumers;
    auto const watch = [this](std::string const& url) { return observer_of(url); };
    auto first = settings_;
    if (fleet_) fleet_->limit(first);
    all_.emplace(s_.io, api, urls_, job_.handle, job_.handle_many, watch, first);
    if (fleet_) all_->begin_with_slice();
    if (!o_.settings.empty()) {
        auto const said = co_await all_->set_limits(at_first_);
        if (!said) co_return complain(said.error());
    }
    begin();
    auto const drain = [this](std::chrono::milliseconds within) {
        manager_.stopping();
        all_->stop(within);
    };
    co_await platform_->begin(*all_, limit_, drain);
    co_await until_drained();
    co_await end();
    auto const code = judge();
    bool const refused = heard_->end->has_error() && !heard_->complaint;
    if (!refused) co_return code;
    co_return co_await complain_of_end();
}

void consume_run::show_numbers_of(std::string const& url)
{
    auto const& labels = numbers_->labels_of(url);
    if (once_) once_->show(url, labels, numbers_->all());
    if (job_.show) job_.show(url, labels, numbers_->all());
}

void consume_run::begin()
{
    if (numbers_) numbers_->begin(*all_);
    for (auto const& url : urls_)
        if (numbers_) show_numbers_of(url);
    if (numbers_) platform_->show(numbers_->labels_of(urls_.front()), numbers_->all());
    if (heard_->traces) heard_->traces->begin(numbers_ ? numbers_->count_dropped() : nullptr);
    if (fleet_) fleet_->begin(*all_);
    if (admin_) {
        for (auto const& q : all_->queues())
            admin_->watch(q.url, q.of);
        admin_->begin().value(); // it listens already
    }
}

void consume_run::follow_signals()
{
    if (!o_.settings.empty() || job_.read_again)
        signals_.emplace_back(s_.io, SIGHUP, [this] { read_limits_again(); });
    for (auto const& q : all_->queues()) {
        auto const name = has_one() ? std::string() : q.url + ": ";
        auto const tell = [name](std::exception_ptr bug, explanation const& said) {
            if (bug) std::rethrow_exception(bug);
            say(stderr, "quern: {}{}\n", name, to_string(said));
        };
        signals_.emplace_back(s_.io, SIGUSR1, [this, q, tell] { asio::co_spawn(s_.io, q.of.explain(), tell); });
        signals_.emplace_back(s_.io, SIGUSR2, [this, q, name] { probe(q.of, name); });
        log_line(log_level::info, fmt::format("consuming {}", q.url));
    }
}

void consume_run::probe(consumer& of, std::string const& name)
{
    of.probe_now();
    log_line(log_level::info, name + "what waits for better times is tried now");
}

void consume_run::read_limits_again()
{
    auto now = settings_now(o_, base_, job_.read_again);
    if (!now) {
        log_line(log_level::error, fmt::format("the settings stay as they are: {}", printable(now.error().message)));
        return;
    }
    asio::co_spawn(s_.io, turn(*all_, std::move(*now)), [](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    });
}

/// Completes when all have drained: because of a signal, of an output that broke, of queues that ran empty, or
/// because one was refused from the beginning.
asio::awaitable<void> consume_run::until_drained()
{
    all_->drain_on({SIGINT, SIGTERM}, limit_);
    asio::signal_set told(s_.io, SIGINT, SIGTERM);
    told.async_wait([this](boost::system::error_code ec, int) {
        if (ec) return;
        manager_.stopping();
        log_line(log_level::info, "draining; a second signal cancels the handlers that run");
    });
    follow_signals();
    std::vector<empty_watch> watches;
    for (auto const& url : urls_)
        watches.emplace_back(*s_.consumers, url);
    asio::co_spawn(s_.io, all_->run(), [heard = heard_](std::exception_ptr bug, result<drain_report> end) {
        if (bug) std::rethrow_exception(bug);
        heard->end = std::move(end);
        heard->arrived.ring();
    });
    if (job_.started) job_.started(*all_);
    vitals_ = std::make_shared<vital_watch>(*all_);
    manager_.ready("consuming " + (has_one() ? urls_.front() : std::to_string(urls_.size()) + " queues"),
        [vitals = vitals_] { return vitals->alive(); });

    bool draining = false;
    auto const every = job_.statistics_every;
    auto tell_at = real_clock().now() + every.value_or(0s);
    while (!heard_->end) {
        std::optional<tick> look_at, wake_at;
        if (o_.until_empty && !draining) wake_at = look_at = real_clock().now() + 100ms;
        if (every) wake_at = std::min(tell_at, look_at.value_or(tell_at));
        co_await heard_->arrived.wait(wake_at);

        if (every && real_clock().now() >= tell_at) {
            tell_at = real_clock().now() + *every;
            log_line(log_level::info, job_.statistics());
        }
        bool enough = heard_->complaint.has_value();
        if (look_at && !enough && !heard_->end) enough = co_await all_empty(watches);
        if (!enough || std::exchange(draining, true)) continue;
        manager_.stopping();
        all_->stop(limit_);
    }
}

/// Whether all queues have run empty; false as well where that cannot be told.
asio::awaitable<bool> consume_run::all_empty(std::vector<empty_watch>& watches)
{
    bool out = true;
    for (std::size_t i = 0; i < watches.size(); ++i) {
        auto const empty = co_await watches[i].stays_empty(all_->queues()[i].of);
        if (!empty)
            log_line(log_level::warning,
                fmt::format("cannot tell whether the queue is empty: {}", explain(empty.error(), s_.sqs.endpoint())));
        out = out && empty && *empty;
    }
    co_return out;
}

/// Sends what is left to send, in the time that the drain has left, a moment at least.
asio::awaitable<void> consume_run::end()
{
    signals_.clear();
    vitals_->end();
    if (job_.ended) job_.ended();
    heard_->report = co_await all_->drained();
    co_await platform_->end();
    if (fleet_) co_await fleet_->finish();
    if (admin_) co_await admin_->end();
    auto const sent_by =
        real_clock().now() + std::clamp<std::chrono::milliseconds>(limit_ - heard_->report.took, 500ms, 5s);
    // A collector that hangs leaves time for the numbers, among which are the spans that it did not take.
    auto const traced_by = numbers_ ? sent_by - (sent_by - real_clock().now()) / 2 : sent_by;
    if (heard_->traces) co_await heard_->traces->finish(left_until(traced_by));
    if (numbers_) co_await numbers_->finish(left_until(sent_by));
    if (once_) log_line(log_level::info, once_->statistics());
    if (job_.statistics) log_line(log_level::info, job_.statistics());
}

int consume_run::judge()
{
    auto code = judged(*all_, heard_->report);
    if (report_) {
        if (auto const written = report_->write(all_->report(heard_->report) + '\n'); !written)
            code = complain_of_report(o_.report, written.error());
    }
    if (heard_->complaint) code = complain(*heard_->complaint);
    return code;
}

/// Which queue was refused, and why. Where there are several, its name goes along.
asio::awaitable<int> consume_run::complain_of_end()
{
    for (std::size_t i = 0; i < o_.queues.size(); ++i) {
        auto const end = co_await all_->queues()[i].of.run();
        if (end.has_error()) co_return s_.complain(end.error(), o_.queues[i]);
    }
    co_return failed;
}

} // namespace

asio::awaitable<int> consume_queues(session& s, consume_options const& o, make_work const& make)
{
    if (auto const why = conflict(o); !why.empty()) co_return complain(why, usage);
    consume_run all(s, o);
    int code = co_await all.find_queues();
    if (code == ok) code = all.read_files();
    if (code == ok) code = co_await all.prepare(make);
    if (code == ok) code = all.open_doors();
    if (code == ok) code = co_await all.consume();
    co_return code;
}

} // namespace quern::app
