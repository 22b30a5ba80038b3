#pragma once

#include "naive.hpp"

#include <quern/core/alarm.hpp>
#include <quern/sim/scenario.hpp>
#include <quern/telemetry/log.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <deque>
#include <vector>

namespace quern::sim {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::seconds;

using storage_ptr = std::shared_ptr<std::byte[]>;

/// A message held here.
struct job {
    job(sqs::message m, storage_ptr from, clock& time, asio::io_context& io)
        : given(m, std::move(from), time), handle(m.receipt_handle), receives(m.receive_count()),
          beat(time, io.get_executor()), idle(time, io.get_executor())
    {}

    delivery given;
    std::string handle;
    int receives;
    tick lease{};
    alarm beat;                                        // rung when there is news for the heartbeat
    alarm idle;                                        // rung when no extension is on the wire
    std::shared_ptr<asio::cancellation_signal> cancel; // of the call that it is in
    bool begun = false, called_off = false;            // a plain function that waits for a thread
    bool running = false, told = false, deleting = false, giving_back = false;
    bool extending = false, overdue = false, lost = false, gone = false;
};
using job_ptr = std::shared_ptr<job>;

inline asio::awaitable<std::vector<outcome>> call(handlers const& handle, std::vector<job_ptr> what)
{
    std::vector<outcome> said;
    if (handle.many) {
        std::vector<std::reference_wrapper<delivery>> all;
        for (auto const& j : what)
            all.emplace_back(j->given);
        said = co_await handle.many(deliveries(all));
    } else {
        auto one = co_await handle.one(what.front()->given);
        said.push_back(std::move(one));
    }
    co_return said;
}

/// The naive consumer. One context, one thread.
class naive_worker : public std::enable_shared_from_this<naive_worker> {
public:
    naive_worker(
        asio::io_context& io, sqs::api& api, std::string url, handlers handle, consumer_options options, flaws f)
        : io_(io), api_(api), url_(std::move(url)), handle_(std::move(handle)), options_(std::move(options)),
          flaws_(f), random_(options_.seed), log_(options_.log), room_(*options_.time, io.get_executor()),
          deletes_wait_(*options_.time, io.get_executor()), changed_(*options_.time, io.get_executor())
    {}

    void start(std::function<void(drain_report const&)> ended)
    {
        ended_ = std::move(ended);
        spawn(receive());
        spawn(remove());
    }

    void drain(milliseconds limit)
    {
        hurried_ = stopping_;
        changed_.ring();
        if (!std::exchange(stopping_, true)) spawn(stop(limit));
    }

    std::size_t in_flight() const { return jobs_.size(); }
    void turn(consumer_limits const&);

private:
    tick now() const { return options_.time->now(); }

    void spawn(asio::awaitable<void> work)
    {
        asio::co_spawn(io_, std::move(work), [self = shared_from_this()](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
        });
    }

    asio::awaitable<void> rest(milliseconds d)
    {
        auto const timer = options_.time->make_timer(io_.get_executor());
        co_await timer->wait_until(now() + d);
    }

    void log(std::string const& cause, failure const& why)
    {
        if (flaws_.logs_everything)
            options_.log(log_level::warning, cause + ": " + describe(why));
        else
            log_.write(log_level::warning, cause, describe(why), now());
    }

    // ---- receiving

    asio::awaitable<void> receive()
    {
        receiving_ = true;
        for (int failures = 0; !stopping_;) {
            if (now() < stopped_until_) {
                co_await room_.wait(stopped_until_);
                continue;
            }
            auto const taken = std::min(jobs_.size() + leaked_, options_.limits.max_in_flight);
            auto ask = std::min<std::size_t>(options_.limits.max_in_flight - taken, 10);
            if (ask == 0 || is_full()) {
                co_await room_.wait();
                continue;
            }
            if (flaws_.asks_for_ten) ask = 10;
            auto latest = now();
            auto const twice = flaws_.combines_polls && ask > 1;
            if (twice) --ask;
            auto got = co_await ask_for(static_cast<int>(ask), latest);
            if (got && twice) {
                auto sooner = now();
                auto second = co_await ask_for(1, sooner);
                if (!second) continue; // and what the first has brought is gone
                accept(*second, std::min(now(), sooner));
            }
            if (got) {
                failures = 0;
                auto const in_vain = is_without_handles(*got);
                accept(*got, std::min(now(), latest));
                if (in_vain && !flaws_.asks_on_without_handles) co_await rest(1s);
                if (got->messages.empty() && options_.wait_time == 0s) co_await room_.wait(now() + 1s);
                continue;
            }
            log("receive failed", got.error());
            if (flaws_.leaks_places) leaked_ += ask;
            if (flaws_.ends_at_an_error || (flaws_.ends_at_three_errors && ++failures == 3)) break;
            if (!flaws_.retries_at_once) co_await rest(1s);
        }
        receiving_ = false;
        changed_.ring();
    }

    static bool is_without_handles(sqs::receive_message_response const&);

    bool is_full() const
    {
        std::size_t bytes = 0;
        for (auto const& j : jobs_)
            bytes += j->given.body().size();
        return bytes >= options_.limits.max_bytes_in_flight.value_or(bytes + 1) && !flaws_.ignores_bytes;
    }

    asio::awaitable<result<sqs::receive_message_response>> answer_to(sqs::receive_message_request);

    /// `latest`: when the answer must have been given; a later one has used up its leases.
    asio::awaitable<result<sqs::receive_message_response>> ask_for(int most, tick& latest);
    void accept(sqs::receive_message_response& got, tick received_at);
    /// Null when the message is here already.
    job_ptr take(sqs::message const& m, storage_ptr const& storage, tick received_at);

    void forget(job_ptr const& j)
    {
        j->gone = true;
        std::erase(jobs_, j);
        j->beat.ring();
        room_.ring();
        changed_.ring();
        if (fifo_) asio::post(io_, [self = shared_from_this()] { self->run_next(); }); // its group goes on
    }

    // ---- handlers

    void run_next();
    void begin(std::vector<job_ptr> batch);
    void call_function(job_ptr j);
    void call_off_functions();

    /// No other of its group runs or is being put off.
    bool may_run(job_ptr const& j) const
    {
        if (now() >= j->lease && !flaws_.acks_without_lease) return false; // about to be lost, after a pause
        if (!fifo_ || flaws_.ignores_groups) return true;
        return std::ranges::none_of(jobs_, [&](job_ptr const& other) {
            auto const busy = other->running || (other->giving_back && !flaws_.overtakes_failed);
            return busy && other->given.group() == j->given.group();
        });
    }

    /// Behind a message that comes again nobody of its group may run.
    void give_back_tail(job_ptr const& head)
    {
        if (!fifo_ || flaws_.overtakes_failed || flaws_.ignores_groups) return;
        for (auto const& j : std::vector<job_ptr>(waiting_.begin(), waiting_.end())) {
            if (j->given.group() != head->given.group()) continue;
            std::erase(waiting_, j);
            give_back(j, 0ms);
        }
    }

    asio::awaitable<void> time_out(job_ptr j)
    {
        co_await rest(*options_.handler_timeout);
        if (!j->running) co_return;
        j->overdue = true;
        if (flaws_.abandons_overdue)
            give_back(j, options_.backoff.delay(j->receives, random_));
        else
            tell(j);
    }

    void tell(job_ptr const& j)
    {
        if (j->running && j->cancel)
            asio::post(io_, [call = j->cancel] { call->emit(asio::cancellation_type::terminal); });
    }

    void handled(job_ptr const& j, std::exception_ptr thrown, std::optional<outcome> said)
    {
        --running_;
        j->running = false;
        note_outage(thrown);
        conclude(j, thrown, said);
        run_next();
    }

    void conclude(job_ptr const& j, std::exception_ptr thrown, std::optional<outcome> said)
    {
        if (!flaws_.acks_without_lease && (now() >= j->lease || j->lost)) {
            give_back_tail(j);
            if (now() >= j->lease) return forget(j); // somebody else may have the message
            return give_back(j, 0ms);                // but it has come back
        }
        if (flaws_.keeps_poisoned && is_outage(thrown) && !stopping_) return spawn(run_again(j));
        if (flaws_.counts_standing_back && thrown && is_old(*j)) said = ack(), thrown = nullptr;
        if (flaws_.overtakes_discarded && is_unreadable(thrown)) said = ack(), thrown = nullptr;
        auto const failed = j->told && !j->overdue ? release() : retry();
        auto const verdict = thrown ? failed : said.value_or(release());
        auto const backoff = options_.backoff.delay(j->receives, random_);
        switch (verdict.what()) {
        default: // it knows no other verdict
            if (flaws_.keys_deletes_by_id)
                std::erase_if(to_delete_, [&](job_ptr const& other) { return other->given.id() == j->given.id(); });
            j->deleting = true;
            to_delete_.push_back(j);
            deletes_wait_.ring();
            break;
        case outcome::kind::release: put_off(j, 0ms); break;
        case outcome::kind::retry_after: put_off(j, verdict.delay()); break;
        case outcome::kind::retry: put_off(j, backoff); break;
        }
    }

    void put_off(job_ptr const& j, milliseconds delay)
    {
        give_back_tail(j);
        if (flaws_.abandons_batch) {
            for (auto const& other : std::exchange(waiting_, {}))
                forget(other);
        }
        if (flaws_.leaves_failures)
            forget(j);
        else
            give_back(j, flaws_.retries_failures_hot ? 0ms : delay);
    }

    static bool is_outage(std::exception_ptr const& thrown);
    static bool is_unreadable(std::exception_ptr const& thrown);
    void note_outage(std::exception_ptr const& thrown);
    bool is_old(job const&) const;
    asio::awaitable<void> run_again(job_ptr);

    // ---- leases, settling and stopping

    seconds lease_length() const { return flaws_.assumes_thirty_seconds ? 30s : options_.visibility_timeout; }

    asio::awaitable<void> keep_lease(job_ptr j);
    /// False: not again.
    asio::awaitable<bool> extend(job_ptr j);
    /// From now on, for that long; receipt_expired when it is no longer ours.
    asio::awaitable<result<void>> hide(std::string handle, seconds timeout);
    void lose(job_ptr const& j);
    void give_back(job_ptr const& j, milliseconds delay);
    asio::awaitable<void> change(job_ptr j, seconds delay);
    asio::awaitable<void> remove();
    void removed(job_ptr const& j, std::string const& handle, result<sqs::delete_message_batch_response> const& got,
        std::string const& id);
    asio::awaitable<void> stop(milliseconds limit);
    asio::awaitable<void> nack(job_ptr j);
    void cancel_all();

    asio::io_context& io_;
    sqs::api& api_;
    std::string const url_;
    bool const fifo_ = url_.ends_with(".fifo");
    handlers const handle_;
    consumer_options options_;
    flaws const flaws_;
    std::mt19937_64 random_;
    log_throttle log_;
    alarm room_, deletes_wait_, changed_;
    std::vector<job_ptr> jobs_;
    std::deque<job_ptr> waiting_; // for a handler; while stopping, to be given back
    std::deque<job_ptr> to_delete_;
    std::size_t running_ = 0, leaked_ = 0;
    bool receiving_ = false, stopping_ = false, hurried_ = false;
    tick release_at_{}, stopped_until_{};
    int down_in_a_row_ = 0, good_in_a_row_ = 0;
    bool slow_ = false;
    std::size_t at_a_time_ = 1; // while slow
    std::function<void(drain_report const&)> ended_;
};

} // namespace quern::sim
