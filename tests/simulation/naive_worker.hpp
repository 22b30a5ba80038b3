#pragma once

#include "naive.hpp"

#include <quern/core/alarm.hpp>
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
    alarm beat; // rung when there is news for the heartbeat
    alarm idle; // rung when no extension is on the wire
    asio::cancellation_signal cancel;
    bool running = false, told = false, deleting = false, giving_back = false;
    bool extending = false, overdue = false, lost = false, gone = false;
};
using job_ptr = std::shared_ptr<job>;

inline asio::awaitable<std::optional<outcome>> call(handler const& handle, job_ptr what)
{
    auto const said = co_await handle(what->given);
    co_return said;
}

/// The naive consumer. One context, one thread.
class naive_worker : public std::enable_shared_from_this<naive_worker> {
public:
    naive_worker(
        asio::io_context& io, sqs::api& api, std::string url, handler handle, consumer_options options, flaws f)
        : io_(io), api_(api), url_(std::move(url)), handle_(std::move(handle)), options_(std::move(options)),
          flaws_(f), random_(options_.seed), log_(options_.log), room_(*options_.time, io.get_executor()),
          deletes_wait_(*options_.time, io.get_executor()), changed_(*options_.time, io.get_executor())
    {}

    void start()
    {
        spawn(receive());
        spawn(remove());
    }

    void drain(milliseconds limit, std::function<void(drain_report)> ended)
    {
        hurried_ = stopping_;
        changed_.ring();
        if (!std::exchange(stopping_, true)) spawn(stop(limit, std::move(ended)));
    }

    std::size_t in_flight() const { return jobs_.size(); }

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
            auto const taken = std::min(jobs_.size() + leaked_, options_.max_in_flight);
            auto ask = std::min<std::size_t>(options_.max_in_flight - taken, 10);
            if (ask == 0) {
                co_await room_.wait();
                continue;
            }
            if (flaws_.asks_for_ten) ask = 10;
            sqs::receive_message_request request(url_);
            request.max_messages = static_cast<int>(ask);
            request.visibility_timeout = options_.visibility_timeout;
            request.wait_time =
                std::min(options_.wait_time, std::chrono::floor<seconds>(options_.drain_deadline / 2));
            request.system_attribute_names = {"ApproximateReceiveCount"};
            auto const latest = now() + *request.wait_time; // a late answer has used up its leases
            auto got = co_await api_.receive_message(std::move(request));
            if (got) {
                failures = 0;
                accept(*got, std::min(now(), latest));
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

    void accept(sqs::receive_message_response& got, tick received_at)
    {
        for (auto& m : got.messages) {
            auto const j = take(m, got.storage, received_at);
            if (!j || (stopping_ && flaws_.drops_late_arrivals)) {
                if (j) forget(j);
                continue;
            }
            waiting_.push_back(j);
            spawn(keep_lease(j));
        }
        for (auto& bad : got.damaged) {
            auto const j = take(bad.known, got.storage, received_at);
            if (!j) continue;
            log("damaged message", bad.why);
            give_back(j, flaws_.releases_damaged ? 0ms : options_.backoff.delay(j->receives, random_));
        }
        run_next();
    }

    /// Null when the message is here already.
    job_ptr take(sqs::message const& m, storage_ptr const& storage, tick received_at)
    {
        auto const same = [&](job_ptr const& j) { return j->given.id() == m.id; };
        auto const at = std::ranges::find_if(jobs_, same);
        if (at != jobs_.end() && !flaws_.runs_redeliveries) {
            auto const known = *at;
            if (!known->giving_back) {
                if (m.receive_count() < known->receives || flaws_.keeps_the_old_handle) return nullptr;
                known->handle = m.receipt_handle;
                known->receives = m.receive_count();
                known->lease = received_at + options_.visibility_timeout;
                known->beat.ring();
                return nullptr;
            }
            forget(known);
        }
        auto const j = std::make_shared<job>(m, storage, *options_.time, io_);
        j->lease = received_at + options_.visibility_timeout;
        jobs_.push_back(j);
        return j;
    }

    void forget(job_ptr const& j)
    {
        j->gone = true;
        std::erase(jobs_, j);
        j->beat.ring();
        room_.ring();
        changed_.ring();
    }

    // ---- handlers

    /// Half of what is in flight may run; the other half waits here.
    void run_next()
    {
        auto const most = flaws_.asks_for_ten ? 1'000 : std::max<std::size_t>(1, options_.max_in_flight / 2);
        while (!stopping_ && running_ < most && !waiting_.empty()) {
            auto const j = waiting_.front();
            waiting_.pop_front();
            if (j->gone || j->lost) continue;
            ++running_;
            j->running = true;
            j->beat.ring();
            auto done = [self = shared_from_this(), j](std::exception_ptr thrown, std::optional<outcome> said) {
                self->handled(j, thrown, said);
            };
            asio::co_spawn(io_, call(handle_, j), asio::bind_cancellation_slot(j->cancel.slot(), std::move(done)));
            if (options_.handler_timeout.count() != 0 && !flaws_.never_times_out) spawn(time_out(j));
        }
    }

    asio::awaitable<void> time_out(job_ptr j)
    {
        co_await rest(options_.handler_timeout);
        if (!j->running) co_return;
        j->overdue = true;
        if (flaws_.abandons_overdue)
            give_back(j, options_.backoff.delay(j->receives, random_));
        else
            tell(j);
    }

    void tell(job_ptr const& j)
    {
        if (j->running) asio::post(io_, [j] { j->cancel.emit(asio::cancellation_type::terminal); });
    }

    void handled(job_ptr const& j, std::exception_ptr thrown, std::optional<outcome> said)
    {
        --running_;
        j->running = false;
        run_next();
        if (!flaws_.acks_without_lease) {
            if (now() >= j->lease) return forget(j); // somebody else may have the message
            if (j->lost) return give_back(j, 0ms);   // but it has come back
        }
        auto const failed = j->told && !j->overdue ? release() : retry();
        auto const verdict = thrown ? failed : *said;
        switch (verdict.what()) {
        default: // it knows no other verdict
            j->deleting = true;
            to_delete_.push_back(j);
            deletes_wait_.ring();
            break;
        case outcome::kind::release: give_back(j, 0ms); break;
        case outcome::kind::retry_after: give_back(j, verdict.delay()); break;
        case outcome::kind::retry: give_back(j, options_.backoff.delay(j->receives, random_)); break;
        }
    }

    // ---- leases, settling and stopping: naive.cpp

    asio::awaitable<void> keep_lease(job_ptr j);
    /// False: not again.
    asio::awaitable<bool> extend(job_ptr j);
    /// From now on, for that long; false when it did not work.
    asio::awaitable<bool> hide(std::string handle, seconds timeout);
    void lose(job_ptr const& j);
    void give_back(job_ptr const& j, milliseconds delay);
    asio::awaitable<void> change(job_ptr j, seconds delay);
    asio::awaitable<void> remove();
    void removed(job_ptr const& j, std::string const& handle, result<sqs::delete_message_batch_response> const& got,
        std::string const& id);
    asio::awaitable<void> stop(milliseconds limit, std::function<void(drain_report)> ended);
    asio::awaitable<void> nack(job_ptr j);
    void cancel_all();

    asio::io_context& io_;
    sqs::api& api_;
    std::string const url_;
    handler const handle_;
    consumer_options const options_;
    flaws const flaws_;
    std::mt19937_64 random_;
    log_throttle log_;
    alarm room_, deletes_wait_, changed_;
    std::vector<job_ptr> jobs_;
    std::deque<job_ptr> waiting_; // for a handler; while stopping, to be given back
    std::deque<job_ptr> to_delete_;
    std::size_t running_ = 0, leaked_ = 0;
    bool receiving_ = false, stopping_ = false, hurried_ = false;
    tick release_at_{};
};

} // namespace quern::sim
