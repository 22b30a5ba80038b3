#include "naive_worker.hpp"

#include <quern/consumer/detail/conclude/thrown.hpp>

namespace quern::sim {

// ---- handlers

/// Half of what is in flight may run; the other half waits here.
void naive_worker::run_next()
{
    auto half = std::max<std::size_t>(1, options_.limits.max_in_flight / 2);
    half = std::min(half, options_.limits.handler_concurrency.value_or(half));
    auto const most = flaws_.asks_for_ten ? 1'000 : slow_ ? at_a_time_ : half;
    std::erase_if(waiting_, [](job_ptr const& j) { return j->gone || j->lost; });
    while (!stopping_) {
        std::vector<job_ptr> batch;
        while (running_ < most && batch.size() < (handle_.many ? options_.batch.size : 1)) {
            auto const at = std::ranges::find_if(waiting_, [this](job_ptr const& j) { return may_run(j); });
            if (at == waiting_.end()) break;
            batch.push_back(*at);
            waiting_.erase(at);
            ++running_;
            batch.back()->running = true;
            batch.back()->beat.ring();
        }
        if (batch.empty()) break;
        begin(std::move(batch));
    }
}

void naive_worker::begin(std::vector<job_ptr> batch)
{
    if (handle_.call) return call_function(batch.front());
    auto const cancel = std::make_shared<asio::cancellation_signal>();
    for (auto const& j : batch) {
        j->cancel = cancel;
        if (options_.handler_timeout && !flaws_.never_times_out) spawn(time_out(j));
    }
    auto done = [self = shared_from_this(), batch](std::exception_ptr thrown, std::vector<outcome> const& said) {
        for (std::size_t i = 0; i < batch.size(); ++i) {
            std::optional<outcome> one;
            if (!thrown) one = self->flaws_.deletes_whole_batch ? ack() : said[i];
            self->handled(batch[i], thrown, std::move(one));
        }
    };
    auto home = asio::bind_cancellation_slot(cancel->slot(), std::move(done));
    asio::co_spawn(io_, call(handle_, std::move(batch)), std::move(home));
}

/// One that begins late may no longer have to.
void naive_worker::call_function(job_ptr j)
{
    auto work = [self = shared_from_this(), j] {
        if (j->called_off) return;
        j->begun = true;
        auto const& flaws = self->flaws_;
        auto const too_late = (j->lost || self->now() >= j->lease) && !flaws.begins_without_lease;
        auto const called_off = self->stopping_ && !flaws.begins_while_stopping;
        std::exception_ptr thrown;
        std::optional<outcome> said;
        try {
            if (!too_late && !called_off) said = self->handle_.call(j->given);
        } catch (...) {
            thrown = std::current_exception();
        }
        asio::post(self->io_, [self, j, thrown, said] { self->handled(j, thrown, said); });
    };
    if (options_.handler_executor)
        asio::post(*options_.handler_executor, std::move(work));
    else
        asio::post(io_, std::move(work));
}

void naive_worker::call_off_functions()
{
    if (!handle_.call || flaws_.waits_for_threads || flaws_.begins_while_stopping) return;
    for (auto const& j : std::vector<job_ptr>(jobs_)) {
        if (!j->running || j->begun) continue;
        j->called_off = true;
        handled(j, nullptr, std::nullopt);
    }
}

// ---- bad times

bool naive_worker::is_outage(std::exception_ptr const& thrown)
{
    auto const said = thrown ? classify(thrown) : std::nullopt;
    return said && said->what() == outcome::kind::unavailable;
}

bool naive_worker::is_unreadable(std::exception_ptr const& thrown)
{
    return thrown && quern::detail::is_parse_error(thrown);
}

void naive_worker::note_outage(std::exception_ptr const& thrown)
{
    auto const down = is_outage(thrown);
    down_in_a_row_ = down ? down_in_a_row_ + 1 : 0;
    good_in_a_row_ = thrown ? 0 : good_in_a_row_ + 1;
    if (flaws_.stops_for_one && down) stopped_until_ = now() + 1min;
    if (flaws_.stops_for_unreadable && is_unreadable(thrown)) stopped_until_ = now() + 1min;
    if ((flaws_.stays_slow || flaws_.relapses_at_one) && down_in_a_row_ == 3) slow_ = true;
    if (flaws_.stays_slow && good_in_a_row_ == 20) slow_ = false;
    if (slow_) at_a_time_ = thrown || flaws_.stays_slow ? 1 : 2 * at_a_time_;
    if (flaws_.relapses_at_one && at_a_time_ >= options_.limits.max_in_flight / 2) slow_ = false;
}

bool naive_worker::is_old(job const& j) const
{
    auto const first = j.given.first_received_at();
    return first && options_.time->wall() - *first > *options_.max_age;
}

asio::awaitable<void> naive_worker::run_again(job_ptr j)
{
    co_await rest(1s);
    if (j->gone || j->lost) co_return;
    waiting_.push_back(j);
    run_next();
}

// ---- leases

asio::awaitable<void> naive_worker::keep_lease(job_ptr j)
{
    milliseconds const visibility = lease_length();
    auto const margin = flaws_.extends_at_five_seconds ? 5s : visibility / 3;
    auto const attempt = std::min<milliseconds>(10s, visibility / 6); // of the network
    int extended = 0;
    while (!j->gone && !(j->giving_back && !flaws_.extends_after_backoff)) {
        if (flaws_.extends_until_deleting && j->deleting) break;
        if (flaws_.stops_extending && stopping_) break;
        if (now() >= j->lease) lose(j);
        auto next = now() >= j->lease ? tick::max() : j->lease - margin; // lost, unless it comes here again
        if (flaws_.extends_at_five_seconds && visibility < 5s) next = std::max(next, j->lease);
        if (flaws_.extends_when_running && !j->running) next = std::max(next, j->lease);
        if (next <= now() && now() + attempt > j->lease) next = j->lease; // no time for an answer
        if (flaws_.extends_all_the_time) {
            co_await rest(5ms);
            if (j->gone || j->giving_back) break;
            next = now();
        }
        if (now() < next) {
            co_await j->beat.wait(next);
            continue;
        }
        if (flaws_.extends_once && extended++ != 0) break;
        if (auto const on = co_await extend(j); !on) break;
    }
}

asio::awaitable<bool> naive_worker::extend(job_ptr j)
{
    auto const handle = j->handle;
    auto const sent_at = now();
    j->extending = true;
    auto const said = co_await hide(handle, options_.visibility_timeout);
    auto const done = said.has_value();
    if (!done && said.error().code == errc::receipt_expired && j->handle == handle) j->lease = now();
    j->extending = false;
    j->idle.ring();
    if (done && j->handle == handle) j->lease = sent_at + lease_length();
    if (!done && !flaws_.gives_up_extending) co_await j->beat.wait(std::min(now() + 100ms, j->lease));
    co_return done || !flaws_.gives_up_extending;
}

asio::awaitable<result<void>> naive_worker::hide(std::string handle, seconds timeout)
{
    std::vector<sqs::change_visibility_entry> entries{{"0", std::move(handle), timeout}};
    sqs::change_message_visibility_batch_request request(url_, std::move(entries));
    auto const got = co_await api_.change_message_visibility_batch(std::move(request));
    if (!got) {
        log("visibility not changed", got.error());
        co_return got.error();
    }
    if (got->failed.empty()) co_return result<void>();
    auto const expired = got->failed.front().sender_fault;
    co_return failure(expired ? errc::receipt_expired : errc::service_error, "entry refused");
}

void naive_worker::lose(job_ptr const& j)
{
    if (flaws_.acks_without_lease || std::exchange(j->lost, true)) return;
    std::erase(waiting_, j);
    give_back_tail(j);
    if (j->running)
        tell(j);
    else if (!j->deleting)
        forget(j);
}

// ---- settling

void naive_worker::give_back(job_ptr const& j, milliseconds delay)
{
    if (stopping_ && receiving_ && delay.count() == 0 && now() < release_at_) {
        waiting_.push_back(j); // the receive that is still open would only bring it again
    } else {
        j->giving_back = true;
        spawn(change(j, std::chrono::ceil<seconds>(delay)));
    }
}

asio::awaitable<void> naive_worker::change(job_ptr j, seconds delay)
{
    j->beat.ring();
    while (j->extending && !flaws_.extends_after_backoff)
        co_await j->idle.wait(); // it would overwrite this
    for (auto pause = 100ms; !j->gone && now() < j->lease; pause = std::min<milliseconds>(2 * pause, 1s)) {
        auto const done = co_await hide(j->handle, delay);
        if (done || done.error().code == errc::receipt_expired) break;
        if (!flaws_.retries_at_once) co_await rest(pause);
    }
    forget(j);
}

asio::awaitable<void> naive_worker::remove()
{
    for (;;) {
        while (to_delete_.empty())
            co_await deletes_wait_.wait();
        if (to_delete_.size() < 10) co_await rest(options_.settle.linger.value_or(0ms));
        std::vector<job_ptr> batch;
        std::vector<std::string> handles;
        sqs::delete_message_batch_request request(url_, {});
        for (; !to_delete_.empty() && batch.size() < 10; to_delete_.pop_front()) {
            auto const& j = to_delete_.front();
            if (j->gone) continue;
            request.entries.emplace_back(std::to_string(batch.size()), j->handle);
            handles.push_back(j->handle);
            batch.push_back(j);
        }
        if (batch.empty()) continue;
        if (flaws_.drops_deletes && stopping_) {
            std::ranges::for_each(batch, [this](job_ptr const& j) { forget(j); });
            continue;
        }
        auto const got = co_await api_.delete_message_batch(std::move(request));
        if (!got) log("delete failed", got.error());
        for (std::size_t i = 0; i < batch.size(); ++i)
            removed(batch[i], handles[i], got, std::to_string(i));
        if (!to_delete_.empty() && !flaws_.retries_at_once) co_await rest(100ms);
    }
}

void naive_worker::removed(job_ptr const& j, std::string const& handle,
    result<sqs::delete_message_batch_response> const& got, std::string const& id)
{
    auto const names = [&](sqs::batch_failure const& f) { return f.id == id; };
    auto const refused = got && std::ranges::any_of(got->failed, names) && !flaws_.forgets_failed_entries;
    auto const failed = !got && !flaws_.forgets_failed_calls;
    auto const again = refused || failed || j->handle != handle;
    if (again && now() < j->lease)
        to_delete_.push_back(j);
    else
        forget(j);
}

/// It knows no rate.
void naive_worker::turn(consumer_limits const& to)
{
    if (flaws_.keeps_old_limits) return;
    options_.limits = to;
    room_.ring();
    run_next();
}

// ---- stopping

asio::awaitable<void> naive_worker::stop(milliseconds limit)
{
    auto const began = now();
    auto const end = flaws_.stops_without_limit ? tick::max() : began + limit;
    release_at_ = flaws_.stops_without_limit ? tick::max() : began + limit * 9 / 10;
    room_.ring();
    if (flaws_.never_stops) co_return;
    if (flaws_.says_stopped_at_once) co_return ended_({});
    for (auto const& j : jobs_) {
        j->beat.ring();
        if (flaws_.releases_running && j->running) spawn(nack(j));
    }
    call_off_functions();
    if (flaws_.drops_unstarted) {
        for (auto const& j : std::exchange(waiting_, {}))
            forget(j);
    }
    if (flaws_.leaves_receive_open) receiving_ = false;
    while (receiving_ && now() < release_at_) {
        if (hurried_) cancel_all();
        co_await changed_.wait(release_at_);
    }
    release_at_ = now();
    for (auto const& j : std::exchange(waiting_, {}))
        if (!j->gone) give_back(j, 0ms);
    auto const cancel_at = flaws_.stops_without_limit ? tick::max() : began + limit * 9 / 10;
    while (!jobs_.empty() && now() < cancel_at && !hurried_)
        co_await changed_.wait(cancel_at);
    if (!flaws_.stops_without_limit) cancel_all();
    while ((!jobs_.empty() || receiving_) && now() < end)
        co_await changed_.wait(end);
    drain_report report;
    report.took = std::chrono::duration_cast<milliseconds>(now() - began);
    report.polls = receiving_ ? 1 : 0;
    for (auto const& j : jobs_)
        ++(j->running ? report.running : j->deleting ? report.at_risk : report.stranded);
    ended_(report);
}

asio::awaitable<void> naive_worker::nack(job_ptr j)
{
    co_await hide(j->handle, 0s);
}

void naive_worker::cancel_all()
{
    for (auto const& j : jobs_) {
        if (!j->running || std::exchange(j->told, true)) continue;
        tell(j);
    }
}

// ---- what the simulated process runs

namespace {

class naive final : public subject {
public:
    explicit naive(std::shared_ptr<naive_worker> w) : worker_(std::move(w)) {}

    void start(std::function<void(drain_report const&)> ended) override { worker_->start(std::move(ended)); }
    void drain(milliseconds limit) override { worker_->drain(limit); }
    std::size_t in_flight() const override { return worker_->in_flight(); }
    void set_limits(consumer_limits const& to) override { worker_->turn(to); }

private:
    std::shared_ptr<naive_worker> worker_;
};

} // namespace

subject_factory naive_consumer(flaws f)
{
    return [f](asio::io_context& io, sqs::api& api, std::string url, handlers handle, consumer_options options) {
        return std::make_unique<naive>(
            std::make_shared<naive_worker>(io, api, std::move(url), std::move(handle), std::move(options), f));
    };
}

} // namespace quern::sim
