#pragma once

#include <quern/idempotency/memory_store.hpp>
#include <quern/idempotency/once.hpp>

#include "consumer/mill.hpp"
#include "support/doubtful_store.hpp"

#include <array>
#include <map>
#include <memory>
#include <random>
#include <string>

namespace quern::test {

/// A day with two processes on one queue, whose keys come up to three times, over a store that is honest: it may be
/// slow, lose requests and answers, but never breaks a condition. Leases are lost, clocks differ, handlers fail, and
/// some finish although they were cancelled. The effect of each key must be there once.
class idempotency_day {
public:
    /// A mistake that is planted.
    enum class flaw { none, completes_unconditionally, wrong_clock, token_per_process };

    explicit idempotency_day(unsigned seed, flaw planted = flaw::none) : random_(seed), planted_(planted)
    {
        url_ = engine_.create_queue(sqs::create_queue_request("orders"), time_.wall()).value().queue_url;
        for (std::size_t i = 0; i < 2; ++i)
            start(i);
        for (int key = 0; key < keys; ++key) {
            auto const copies = 1 + one_in(2) + one_in(3);
            for (int copy = 0; copy < copies; ++copy)
                send("k" + std::to_string(key));
        }
    }

    /// Runs it to its end. What is wrong with it; empty: nothing.
    std::string run()
    {
        auto const begun = time_.now();
        auto const fair = [this, begun] { return time_.now() - begun > 40min; };
        is_fair_ = fair;
        auto const done = time_.run_until_done(io_, std::chrono::hours(6), [&] { return fair() && depth() == 0; });
        for (auto& p : processes_)
            asio::co_spawn(io_, p.consumes->drain(30s), [&](std::exception_ptr, drain_report const&) { ++drained_; });
        time_.run_until_done(io_, 1min, [&] { return drained_ == 2; });
        std::string out;
        if (!done) out += "the queue never ran empty; ";
        for (int key = 0; key < keys; ++key) {
            auto const n = effects_["k" + std::to_string(key)];
            if (n != 1) out += "k" + std::to_string(key) + " has its effect " + std::to_string(n) + " times; ";
        }
        return out;
    }

    int lost() const
    {
        return static_cast<int>(sum([](process const& p) { return p.consumes->counters().lost; }));
    }
    int duplicates() const
    {
        return static_cast<int>(sum([](process const& p) { return p.guard->counters().duplicates; }));
    }
    int late() const { return late_; }

    ~idempotency_day()
    {
        for (auto& p : processes_)
            p.consumes.reset();
        time_.run_for(io_, 0s);
        local_.reset();
    }

private:
    static constexpr int keys = 40;

    /// The clock of a machine that is set wrong.
    class wrong_clock final : public quern::clock {
    public:
        wrong_clock(quern::clock& real, std::chrono::milliseconds ahead) : real_(real), ahead_(ahead) {}
        tick now() const override { return real_.now(); }
        wall_time wall() const override { return real_.wall() + ahead_; }
        std::unique_ptr<timer> make_timer(asio::any_io_executor ex) override
        {
            return real_.make_timer(std::move(ex));
        }

    private:
        quern::clock& real_;
        std::chrono::milliseconds ahead_;
    };

    /// The store with the mistakes of a process in it.
    class flawed_store final : public idempotency::store {
    public:
        flawed_store(std::shared_ptr<idempotency::memory_store> honest, flaw planted, std::string process)
            : honest_(std::move(honest)), planted_(planted), process_(std::move(process))
        {}
        answer<idempotency::store_answer> claim(idempotency::claim_request r) override
        {
            mark(r.row);
            auto said = co_await honest_->claim(r);
            bool const mine = planted_ == flaw::token_per_process && said->found && said->found->owner == process_;
            if (mine) said->applied = true;
            co_return said;
        }
        answer<idempotency::store_answer> extend(std::string key, idempotency::record claim) override
        {
            mark(claim);
            return honest_->extend(std::move(key), std::move(claim));
        }
        answer<idempotency::store_answer> complete(std::string key, idempotency::record done) override
        {
            mark(done);
            if (planted_ == flaw::completes_unconditionally) become_owner(key, done.owner);
            return honest_->complete(std::move(key), std::move(done));
        }
        answer<idempotency::store_answer> abandon(std::string key, std::string owner) override
        {
            if (planted_ == flaw::token_per_process) owner = process_;
            return honest_->abandon(std::move(key), std::move(owner));
        }

    private:
        void mark(idempotency::record& row) const
        {
            if (planted_ == flaw::token_per_process) row.owner = process_;
        }
        void become_owner(std::string const& key, std::string const& owner) const
        {
            auto row = honest_->find(key);
            if (!row) return;
            row->owner = owner;
            row->is = idempotency::record::state::in_progress;
            honest_->replace(key, *row);
        }

        std::shared_ptr<idempotency::memory_store> const honest_;
        flaw const planted_;
        std::string const process_;
    };

    struct process {
        std::unique_ptr<wrong_clock> time;
        std::shared_ptr<doubtful_store> store;
        std::shared_ptr<idempotency::once> guard;
        std::unique_ptr<hooked_api> api;
        std::unique_ptr<consumer> consumes;
        tick cut_off_until{}; ///< from the store and the queue
    };

    int one_in(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)) == 0 ? 1 : 0; }
    std::chrono::milliseconds up_to(std::chrono::milliseconds most)
    {
        return std::chrono::milliseconds(
            static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most.count())));
    }

    void send(std::string body)
    {
        sqs::send_message_request letter(url_, std::move(body));
        letter.delay = std::chrono::seconds(random_() % 600);
        engine_.send_message(std::move(letter), time_.wall()).value();
    }

    bool is_cut_off(process& p)
    {
        if (is_fair_ && is_fair_()) return false;
        if (one_in(150)) p.cut_off_until = time_.now() + 20s + up_to(60s);
        return time_.now() < p.cut_off_until;
    }

    doubtful_store::way way_of(process& p, std::string_view operation)
    {
        using fate = doubtful_store::fate;
        doubtful_store::way out{fate::carried_out, up_to(50ms), up_to(50ms)};
        if (is_fair_ && is_fair_()) return out;
        if (one_in(12)) out.what = fate::answer_lost;
        // What is done, and whose completion does not arrive while its claim lasts, is done again: no store can help.
        if (operation == "complete") return out;
        if (is_cut_off(p) || one_in(12)) out.what = fate::not_sent;
        if (one_in(8)) out.there = up_to(operation == "abandon" ? 60s : 4s);
        return out;
    }

    void start(std::size_t number)
    {
        auto& p = processes_[number];
        std::chrono::milliseconds const ahead = number == 0 ? 0s : 90s;
        p.time = std::make_unique<wrong_clock>(time_, ahead);
        auto const flawed = std::make_shared<flawed_store>(rows_, planted_, "process" + std::to_string(number));
        p.store = std::make_shared<doubtful_store>(flawed, time_);
        p.store->offset = planted_ == flaw::wrong_clock ? 0ms : -ahead;
        p.store->on = [this, &p](std::string_view operation) { return way_of(p, operation); };
        idempotency::once_options how;
        how.prefix = "day";
        how.key.what = idempotency::key_source::kind::whole_body;
        how.time = p.time.get();
        how.log = nullptr;
        p.guard = std::make_shared<idempotency::once>(p.store, how);
        p.api = std::make_unique<hooked_api>(*local_);
        p.api->on_change = [this, &p]() -> std::optional<failure> {
            if (is_cut_off(p)) return failure(errc::timed_out, "cut off", true);
            return {};
        };
        consumer_options options;
        options.time = &time_;
        options.seed = 1 + number;
        options.log = nullptr;
        options.limits.max_in_flight = 8;
        options.visibility_timeout = 30s;
        idempotency::once::worker const work = [this](delivery& d, idempotency::receipt&) { return handle(d); };
        p.consumes = std::make_unique<consumer>(io_.get_executor(), *p.api, url_, p.guard->around(work), options);
        p.consumes->start();
    }

    asio::awaitable<outcome> handle(delivery& d)
    {
        bool const obeys = one_in(2) == 1, fails = one_in(4) == 1;
        std::string const key(d.body());
        std::string const owner = rows_->find(key_of(key)).value_or(idempotency::record()).owner;
        co_await asio::this_coro::throw_if_cancelled(obeys);
        auto const timer = time_.make_timer(io_.get_executor());
        auto const end = time_.now() + up_to(obeys ? 90s : 60s);
        bool is_cancelled = false;
        while (time_.now() < end) {
            co_await timer->wait_until(std::min(end, time_.now() + 1s));
            auto const state = co_await asio::this_coro::cancellation_state;
            is_cancelled = is_cancelled || state.cancelled() != asio::cancellation_type::none;
        }
        if (is_cancelled) { // what it does is fenced, of which it hears nothing
            ++late_;
            auto const row = rows_->find(key_of(key));
            if (row && row->owner == owner && row->is == idempotency::record::state::in_progress) co_return retry();
            co_return ack();
        }
        if (fails) throw std::runtime_error("it fails");
        ++effects_[key];
        co_return ack();
    }

    static std::string key_of(std::string const& body)
    {
        return idempotency::make_key(idempotency::flavour::quern, "day", '"' + body + '"');
    }

    std::size_t depth()
    {
        sqs::get_queue_attributes_request ask(url_);
        auto const told = engine_.get_queue_attributes(ask, time_.wall()).value().attributes;
        std::size_t all = 0;
        for (auto const* kind : {"", "NotVisible", "Delayed"})
            all += std::stoul(told.at(std::string("ApproximateNumberOfMessages") + kind));
        return all;
    }

    template <class F>
    std::uint64_t sum(F of) const
    {
        return of(processes_[0]) + of(processes_[1]);
    }

    std::mt19937_64 random_;
    flaw const planted_;
    sim::virtual_clock time_;
    broker::engine engine_{broker::engine_options{.seed = 1}};
    asio::io_context io_; // what it destroys still refers to the clock
    std::optional<sim::local_api> local_{std::in_place, engine_, time_, io_.get_executor()};
    std::string url_;
    std::shared_ptr<idempotency::memory_store> rows_ = std::make_shared<idempotency::memory_store>();
    std::array<process, 2> processes_;
    std::map<std::string, int> effects_;
    std::function<bool()> is_fair_;
    int late_ = 0, drained_ = 0;
};

} // namespace quern::test
