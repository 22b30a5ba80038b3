#include <quern/consumer/client_options.hpp>
#include <quern/consumer/detail/pipeline.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>

#include <algorithm>
#include <utility>

namespace quern {

namespace asio = boost::asio;
using std::chrono::seconds;

namespace {

std::uint64_t seeded(std::uint64_t seed)
{
    return seed != 0 ? seed : std::random_device()();
}

std::unique_ptr<sqs::client> make_client(
    asio::any_io_executor ex, consumer_options const& options, std::string const& queue_url)
{
    sqs::client_options settings;
    settings.where.queue_url = queue_url;
    return std::make_unique<sqs::client>(std::move(ex), client_options_for(options, std::move(settings)));
}

/// Enough that two handlers that are busy at the same time, on a few threads, hardly ever share one.
std::vector<compact_strand> make_strands(asio::any_io_executor const& ex)
{
    std::vector<compact_strand> out;
    for (int i = 0; i < 64; ++i)
        out.push_back(compact_strand::on(ex));
    return out;
}

} // namespace

consumer::pipeline::pipeline(
    asio::any_io_executor ex, sqs::api* given, std::string queue_url, handlers handle, consumer_options settings)
    : strand(compact_strand::on(std::move(ex))), options(std::move(settings)),
      time_(options.time ? *options.time : real_clock()),
      own_client_(given ? nullptr : make_client(strand, options, queue_url)), api_(given ? *given : *own_client_),
      queue_url_(std::move(queue_url)), handle_(std::move(handle)),
      intake_(options.max_in_flight, options.max_polls, seeded(options.seed), options.wait_time.count() != 0),
      bytes_(options.max_bytes_in_flight), pace_(options.rate, time_.now()), outage_(options, seeded(options.seed)),
      redrive_(options.breaker.has_value(), time_.now()),
      batches_(std::min(options.batch_size, options.max_in_flight), options.batch_window),
      leases_(options.visibility_timeout), runs_(options.handler_timeout),
      settle_(options.settle_linger, options.visibility_timeout, seeded(options.seed)), random_(seeded(options.seed)),
      log_(options.log), stall_(options.stall_after, time_.now()), stall_log_(options.log), wake_(time_, strand),
      shared_strands_(make_strands(strand.inner()))
{}

void consumer::pipeline::start()
{
    if (std::exchange(started_, true) || drain_) return;
    spawn(run());
}

void consumer::pipeline::spawn(asio::awaitable<void> work)
{
    if (spawned_++ == 0) at_work_ = asio::prefer(strand.inner(), asio::execution::outstanding_work.tracked);
    asio::co_spawn(strand, std::move(work), [self = shared_from_this()](std::exception_ptr bug) {
        if (--self->spawned_ == 0) self->at_work_.reset();
        if (bug) std::rethrow_exception(bug); // values carry every expected failure: this must not vanish
    });
}

asio::awaitable<void> consumer::pipeline::run()
{
    // Also when the context is destroyed in the middle of it all.
    struct last_act {
        pipeline& of;
        ~last_act() { of.forget_asks(); }
    } const at_last{*this};
    for (auto time = now(); !is_drained(time); time = now()) {
        auto const wake_at = turn(time);
        co_await wake_.wait(wake_at);
    }
    end();
}

void consumer::pipeline::end()
{
    ended_ = true;
    signals_.reset(); // from now on they do what they did before
    if (own_client_) own_client_->close();
    in_flight.for_each([](held_ptr const& h) { tell_asks(*h, failure(errc::stopped, "the drain has ended")); });
    for (auto const& waiter : std::exchange(waiting_, {}))
        waiter->tell({}, report_);
}

/// Starts whatever is due; says when time alone will make more due.
std::optional<tick> consumer::pipeline::turn(tick time)
{
    if (!drain_ && redrive_.due(time)) spawn(learn_max_receives());
    auto leases = leases_.poll(time);
    for (auto& due : leases.extend) {
        if (due.what->extending) continue; // as its handler asked: two on the wire could overtake each other
        auto const timeout = std::max(due.timeout, due.what->asks ? due.what->asks->lease : seconds(0));
        settle_.add({std::move(due.what), settlement::purpose::extend, timeout}, time);
    }
    for (auto const& gone : leases.lost)
        lose(gone);

    admit_waiting(time);
    for (;;) { // a poll may be answered before spawn() returns
        auto const room = outage_.room(in_flight.size(), arrived_.size() + pace_.waiting(), time);
        auto const coming = intake_.coming();
        auto const more =
            std::min(bytes_.room(in_flight.bytes(), coming), pace_.room(coming + arrived_.size(), time));
        auto const ask = intake_.next_poll(room.taken, time, room.all, more);
        if (ask == 0) break;
        spawn(poll(ask));
    }

    // After the polls, which use the frames of those that have ended again: a handler would keep them, large as they are.
    for (auto& h : std::exchange(arrived_, {}))
        if (h->at == held::stage::waiting) admit(std::move(h), time); // else its lease was lost just now

    stop_overdue(time);
    for (auto& h : groups_.take_forsaken(time))
        settle(std::move(h), settlement::purpose::postpone);
    for (auto& head : groups_.runnable())
        admit(std::move(head), time);
    run_batches(time);
    tell_of_outages(time);

    if (intake_.polls() == 0 || (drain_ && !drain_->keeps_back(time))) {
        for (auto& h : std::exchange(kept_back_, {}))
            settle(std::move(h), settlement::purpose::postpone);
    }
    while (settle_calls_ < options.max_settle_calls) {
        auto due = settle_.take(time, running_ != 0, only_changes());
        if (!due) break;
        ++settle_calls_;
        if (due->what == settle_queue::call::change) ++change_calls_;
        switch (due->what) {
        case settle_queue::call::remove: spawn(remove(std::move(due->entries))); break;
        case settle_queue::call::change: spawn(change(std::move(due->entries))); break;
        case settle_queue::call::hand_off: spawn(hand_off(std::move(due->entries))); break;
        }
    }

    watch_for_stall(time);
    log_.flush(time);

    std::optional<tick> wake_at;
    for (auto const& at : {intake_.wake_at(), pace_.wake_at(outage_.lets_go(time)), outage_.wake_at(), leases.wake_at,
             runs_.wake_at(), stall_.wake_at(), groups_.wake_at(), batches_.wake_at(),
             drain_ ? std::optional(drain_->wake_at(time)) : redrive_.wake_at(),
             settle_calls_ < options.max_settle_calls ? settle_.wake_at(only_changes()) : std::nullopt}) {
        if (at) wake_at = std::min(wake_at.value_or(*at), *at);
    }
    return wake_at;
}

bool consumer::pipeline::is_drained(tick time)
{
    if (!drain_) return false;
    auto const step = drain_->next({intake_.polls(), in_flight.size()}, time);
    if (step == drain::step::cancel) in_flight.for_each([this](held_ptr const& h) { cancel(*h); });
    if (step != drain::step::end) return false;

    report_.took = std::chrono::duration_cast<std::chrono::milliseconds>(time - drain_->began_at);
    report_.polls = intake_.polls();
    in_flight.for_each([this](held_ptr const& h) {
        if (h->at == held::stage::running && h->has_begun())
            ++report_.running;
        else if (h->removing || h->rejected)
            ++report_.at_risk;
        else
            ++report_.stranded;
    });
    return true;
}

void consumer::pipeline::begin_drain(std::chrono::milliseconds limit)
{
    auto const time = now();
    if (drain_) {
        drain_->hurry(time);
    } else {
        drain_.emplace(
            time, std::clamp<std::chrono::milliseconds>(limit, std::chrono::seconds(0), lease_book::horizon));
        intake_.stop();
        ages_.begin(service_time());
        in_flight.for_each([this](held_ptr const& h) { call_off(*h); });
        for (auto& h : groups_.take_waiting())
            settle(std::move(h), settlement::purpose::postpone);
        for (auto& h : batches_.take_waiting()) {
            outage_.ended(*h, {}, time);
            groups_.leave(*h);
            settle(std::move(h), settlement::purpose::postpone);
        }
        for (auto waiting : {outage_.take_kept(), pace_.take_waiting()}) {
            for (auto& h : waiting) {
                groups_.leave(*h);
                settle(std::move(h), settlement::purpose::postpone);
            }
        }
        if (!std::exchange(started_, true)) spawn(run());
    }
    wake_.ring();
}

void consumer::pipeline::drain_on(std::vector<int> const& signals, std::chrono::milliseconds limit)
{
    if (ended_) return;
    drain_budget_ = std::clamp<std::chrono::milliseconds>(limit, std::chrono::seconds(0), drain_budget_);
    auto const first = !signals_;
    if (first) signals_.emplace(strand);
    for (auto const s : signals) {
        signals_->add(s);
        signal_limits_[s] = limit;
    }
    if (first) await_signal();
}

void consumer::pipeline::await_signal()
{
    signals_->async_wait([self = shared_from_this()](boost::system::error_code ec, int signal) {
        if (ec || !self->signals_) return;
        self->begin_drain(self->signal_limits_.at(signal));
        self->await_signal();
    });
}

void consumer::pipeline::abandon()
{
    signals_.reset();
    if (!drain_) begin_drain(options.drain_deadline);
}

void consumer::pipeline::join(std::shared_ptr<drain_waiter> waiter)
{
    if (ended_)
        waiter->tell({}, report_);
    else
        waiting_.push_back(std::move(waiter));
}

void consumer::pipeline::leave(std::shared_ptr<drain_waiter> const& waiter)
{
    if (waiter && std::erase(waiting_, waiter) != 0) waiter->tell(asio::error::operation_aborted, {});
}

} // namespace quern
