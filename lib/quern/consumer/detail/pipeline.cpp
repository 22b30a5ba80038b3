#include <quern/consumer/client_options.hpp>
#include <quern/consumer/detail/pipeline.hpp>
#include <quern/core/detail/throw_wrong.hpp>
#include <quern/sqs/detail/named_queues.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace quern::detail {

namespace asio = boost::asio;
using std::chrono::seconds;
using life = message_life;

namespace {

std::unique_ptr<sqs::client> make_client(
    asio::any_io_executor ex, consumer_options const& options, std::string const& queue_url)
{
    auto settings = client_options_for(options);
    auto& where = settings.where;
    if (where.queue_url.empty() && sqs::is_queue_url(queue_url)) where.queue_url = queue_url;
    if (auto const arn = sqs::queue_arn_in(queue_url); arn && where.region.empty()) where.region = arn->region;
    if (!settings.observer) settings.observer = options.observer;
    return std::make_unique<sqs::client>(std::move(ex), std::move(settings));
}

sqs::api* first_of(sqs::api* shared, sqs::api* given, sqs::client* own)
{
    if (shared) return shared;
    return given ? given : own;
}

/// Finds the queues that are not known by their URLs; null when all are.
std::unique_ptr<sqs::detail::named_queues> look_up(
    sqs::api& api, std::string const& queue, std::string const& poison_queue)
{
    throw_wrong(sqs::check_region(queue, api.region()));
    throw_wrong(sqs::check_region(poison_queue, api.region()));
    auto const all_known = sqs::is_queue_url(queue) && (poison_queue.empty() || sqs::is_queue_url(poison_queue));
    return all_known ? nullptr : std::make_unique<sqs::detail::named_queues>(api);
}

} // namespace

lodgers::place pipeline::move_in(sqs::lane_claim places, asio::any_io_executor ex, sqs::api* given,
    std::string queue_url, handlers handle, consumer_options options,
    std::shared_ptr<consumer_numbers<counter> const>& counters)
{
    std::shared_ptr<pipeline> made(new pipeline(
        compact_strand::on(std::move(ex)), given, std::move(queue_url), std::move(handle), std::move(options)));
    counters = made->context_.shared_counters;
    made->context_.owner = made;
    made->run_.open();
    auto const& settings = made->context_.options;
    if (!given) places = made->context_.api.claim({settings.limits.max_polls, settings.settle.max_calls});
    made->places_.push_back(std::move(places));
    auto& home = asio::query(made->strand(), asio::execution::context);
    made->place_ = lodgers::move_in(home, std::make_shared<tenant<pipeline>>(made));
    return made->place_;
}

pipeline::pipeline(
    compact_strand strand, sqs::api* given, std::string queue_url, handlers handle, consumer_options options)
    : own_client_(given ? nullptr : make_client(strand, options, queue_url)),
      shared_client_(given ? given->share() : nullptr),
      names_(look_up(*first_of(shared_client_.get(), given, own_client_.get()), queue_url,
          options.poison_queue.value_or(std::string()))),
      context_(std::move(strand), names_ ? *names_ : *first_of(shared_client_.get(), given, own_client_.get()),
          std::move(queue_url), std::move(options)),
      settle_(context_), leases_(context_, settle_), conclude_(context_, settle_),
      run_(context_, conclude_, settle_, std::move(handle)), gate_(context_, run_, conclude_),
      intake_(context_, gate_, run_), polls_claimed_(context_.options.limits.max_polls),
      explainer_(context_, gate_, run_, intake_)
{
    context_.halt = [this] {
        if (!context_.ending) begin_drain(context_.options.drain_deadline);
    };
}

void pipeline::start()
{
    if (std::exchange(started_, true) || context_.ending) return;
    context_.spawn(run());
}

asio::awaitable<void> pipeline::run()
{
    // Also when the context is destroyed in the middle of it all.
    struct last_act {
        settle_stage& of;
        ~last_act() { of.forget_asks(); }
    } const at_last{settle_};
    for (auto time = context_.now(); !is_drained(time);) {
        auto const wake_at = turn(time);
        co_await context_.wake.wait(wake_at);
        time = context_.now();
        if (wake_at) context_.note_woken(*wake_at, time);
    }
    end();
}

/// Gives each stage its turn; says when time alone will make more due.
///
/// Intake comes before the gate, so that receives use the frames of those that have ended again: a handler would keep
/// them, large as they are.
std::optional<tick> pipeline::turn(tick time)
{
    auto const leases = leases_.turn(time);
    gate_.admit_waiting(time);
    auto const receives = intake_.turn(time);
    auto const handlers = gate_.turn(time);
    // Within a group the next message waits for the delete.
    bool const more_to_come = context_.running != 0 || (!context_.fifo && intake_.rule().is_paced());
    auto const settlements = settle_.turn(time, more_to_come);
    explainer_.watch_for_stall(started_, time);
    context_.log.flush(time);

    std::optional<tick> wake_at;
    auto const drains = context_.ending ? std::optional(context_.ending->wake_at(time)) : std::nullopt;
    for (auto const& at : {leases, receives, handlers, settlements, drains, explainer_.wake_at()})
        if (at) wake_at = std::min(wake_at.value_or(*at), *at);
    return wake_at;
}

bool pipeline::is_drained(tick time)
{
    if (!context_.ending) return false;
    auto const held = context_.in_flight.size();
    auto const step =
        context_.ending->next({context_.open_receives, held, held_by_waiters(), context_.time_to_change(held)}, time);
    if (step == drain::step::cancel) {
        context_.observe(&observer::drain_cancels);
        run_.cancel_all();
    }
    if (step != drain::step::end) return false;
    report_what_is_left(time);
    return true;
}

/// All messages, or none: of those whose handlers wait for the end of the drain nothing is to be expected. Handlers
/// share strands, so each strand must have as many that wait as it has handlers.
std::size_t pipeline::held_by_waiters() const
{
    std::map<void const*, std::ptrdiff_t> others; // strand -> handlers that do not wait
    for (auto const& waiter : waiting_)
        if (waiter->strand_id) --others[waiter->strand_id];
    if (others.empty()) return 0;
    std::set<handler_run const*> runs;
    bool all_run = true;
    context_.in_flight.for_each([&](held_ptr const& h) {
        all_run = all_run && h->life.is_running() && h->run;
        if (all_run && runs.insert(h->run.get()).second) ++others[h->run->on.id()];
    });
    auto const wait = std::ranges::all_of(others, [](auto const& strand) { return strand.second <= 0; });
    return all_run && wait ? context_.in_flight.size() : 0;
}

void pipeline::report_what_is_left(tick time)
{
    auto& report = context_.report;
    report.took = std::chrono::duration_cast<std::chrono::milliseconds>(time - context_.ending->began_at);
    report.polls = context_.open_receives;
    context_.in_flight.for_each([&](held_ptr const& h) {
        if (h->life.is_running() && h->turn.has_begun())
            ++report.running;
        else if (h->life.is_at_risk())
            ++report.at_risk;
        else
            ++report.stranded;
    });
}

void pipeline::end()
{
    context_.ended = true;
    context_.observe(&observer::drain_ended, context_.report);
    context_.watcher = nullptr; // handlers that still run are nobody's news
    signals_.reset();           // from now on they do what they did before
    if (names_) names_->close();
    if (own_client_) own_client_->close();
    context_.in_flight.for_each(
        [](held_ptr const& h) { tell_asks(*h, failure(errc::stopped, "the drain has ended")); });
    for (auto const& waiter : std::exchange(waiting_, {}))
        waiter->tell(context_.gave_up, context_.report);
    places_.clear();
    move_out_if_done();
}

/// Lets go of the context, which kept it. Who runs still has a share.
void pipeline::move_out_if_done()
{
    if (!abandoned_ || !context_.ended || guests_ != 0) return;
    lodgers::visit const last(place_, lodgers::purpose::move_out);
}

void pipeline::left()
{
    --guests_;
    move_out_if_done();
}

void pipeline::context_ends()
{
    run_.close();
    settle_.forget_asks();
    waiting_.clear();
}

result<void> pipeline::set_limits(std::function<void(consumer_limits&)> const& change)
{
    if (context_.ended) return failure(errc::stopped, "the drain has ended");
    auto to = context_.limits;
    change(to);
    if (auto const wrong = to.validate()) return *wrong;
    if (auto const wrong = claim_polls(to.max_polls)) return *wrong;
    if (to == context_.limits) return {};
    context_.limits = to;
    context_.bytes.set(context_.limits.max_bytes_in_flight);
    run_.limits_are_turned();
    gate_.limits_are_turned(context_.now());
    intake_.limits_are_turned();
    context_.observe(&observer::limits_set, to);
    context_.wake.ring();
    return {};
}

/// Connections once claimed stay so until the end: the polls under way use them, and may be wanted again.
std::optional<failure> pipeline::claim_polls(std::size_t all)
{
    if (all <= polls_claimed_) return {};
    auto const more = all - polls_claimed_;
    auto got = context_.api.claim({more, 0});
    if (got.refused) {
        auto const free = got.refused->data;
        return failure(errc::invalid_option,
            "max_polls " + std::to_string(all) + " needs " + std::to_string(more) +
                " more data connections of the client, " + std::to_string(free) + (free == 1 ? " is" : " are") +
                " free: raise client_options::connections.data_connections, see client_options_for()");
    }
    places_.push_back(std::move(got));
    polls_claimed_ = all;
    return {};
}

void pipeline::begin_drain(std::chrono::milliseconds limit)
{
    auto const time = context_.now();
    context_.wake.ring();
    if (context_.ending) return context_.ending->hurry(time);
    limit = std::clamp<std::chrono::milliseconds>(limit, seconds(0), lease_book::horizon);
    context_.observe(&observer::drain_began, limit);
    context_.ending.emplace(time, limit);
    intake_.stop();
    gate_.begin_drain(time);
    if (!std::exchange(started_, true)) context_.spawn(run());
}

void pipeline::drain_on(std::vector<int> const& signals, std::chrono::milliseconds limit)
{
    if (context_.ended) return;
    intake_.expect_drain(limit);
    auto const first = !signals_;
    if (first) signals_.emplace(context_.strand);
    for (auto const s : signals) {
        signals_->add(s);
        signal_limits_[s] = limit;
    }
    if (first) await_signal();
}

void pipeline::await_signal()
{
    signals_->async_wait([self = shared_from_this()](boost::system::error_code ec, int signal) {
        if (ec || !self->signals_) return;
        if (!self->started_)
            self->context_.log.write(log_level::warning, "never started",
                "neither start() nor run() of the consumer was called: nothing was received", self->context_.now());
        self->begin_drain(self->signal_limits_.at(signal));
        if (self->signals_) self->await_signal(); // else it had not been started, and has ended already
    });
}

void pipeline::abandon()
{
    signals_.reset();
    abandoned_ = true;
    if (!context_.ending) begin_drain(context_.options.drain_deadline);
    move_out_if_done();
}

void pipeline::join(std::shared_ptr<end_waiter> waiter)
{
    if (context_.ended) return waiter->tell(context_.gave_up, context_.report);
    waiting_.push_back(std::move(waiter));
    context_.wake.ring(); // it may be a handler, for which the drain would wait
}

void pipeline::leave(std::shared_ptr<end_waiter> const& waiter)
{
    if (waiter && std::erase(waiting_, waiter) != 0) waiter->leave();
}

} // namespace quern::detail
