#include <quern/sim/world.hpp>

#include <quern/sim/local_api.hpp>
#include <quern/sim/part.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <charconv>
#include <set>

namespace quern::sim {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds restart_delay{10'000}; // of a process that has halted: no supervisor does it at once

class world {
public:
    world(scenario const& day, run_options const& options)
        : day_(day), options_(options), books_(time_, rules_of(day, options))
    {
        books_.keeps_trace = options.trace;
        create_queues();
        spawn(send());
        spawn(change_weather());
        spawn(visit_incidents());
        for (int i = 0; i < day.processes; ++i)
            processes_.push_back(make_process());
    }

    run_result run()
    {
        auto const fine_from = last_event();
        while (time_.now() < fine_from && step(fine_from)) {
        }
        auto const empty = run_until(fine_from + day_.patience, [this] { return sent_all_ && is_empty(); });
        closing_ = true;
        for (auto& p : processes_)
            if (!p->draining()) p->drain(day_.consumer.drain_deadline);
        auto const over = [this] {
            return std::ranges::all_of(processes_, [](auto const& p) { return p->ended(); });
        };
        run_until(time_.now() + 1h, over);
        books_.finished(empty, dead());
        for (auto& p : processes_)
            retire(*p);
        result_.violations = std::move(books_.violations);
        result_.trace = std::move(books_.trace);
        result_.lasted = std::chrono::duration_cast<milliseconds>(time_.now() - tick());
        return std::move(result_);
    }

private:
    static witness::rules rules_of(scenario const& day, run_options const& options)
    {
        return {day.consumer.max_in_flight, day.groups > 0, !day.consumer.poison_queue_url.empty(), day.max_receives,
            day.most_dead, judge_damaged(day), static_cast<bool>(options.handle), day.consumer.visibility_timeout,
            day.consumer.max_bytes_in_flight};
    }

    void create_queues()
    {
        std::string const suffix = day_.groups > 0 ? ".fifo" : "";
        sqs::create_queue_request wanted("orders" + suffix);
        if (day_.groups > 0) wanted.attributes["FifoQueue"] = "true";
        if (day_.max_receives > 0) {
            sqs::create_queue_request dead("dead" + suffix);
            if (day_.groups > 0) dead.attributes["FifoQueue"] = "true";
            dead_url_ = engine_.create_queue(dead, time_.wall()).value().queue_url;
            wanted.attributes["RedrivePolicy"] =
                R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead)" + suffix +
                R"(","maxReceiveCount":)" + std::to_string(day_.max_receives) + "}";
        }
        url_ = engine_.create_queue(wanted, time_.wall()).value().queue_url;
        if (day_.consumer.poison_queue_url.empty()) return;
        wanted.queue_name = "poison" + suffix;
        wanted.attributes.erase("RedrivePolicy");
        poison_url_ = engine_.create_queue(wanted, time_.wall()).value().queue_url;
    }

    void spawn(asio::awaitable<void> work)
    {
        asio::co_spawn(io_, std::move(work), [](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
        });
    }

    asio::awaitable<void> at(milliseconds when)
    {
        auto const timer = time_.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(tick() + when);
    }

    asio::awaitable<void> send()
    {
        for (int i = 0; i < day_.messages; ++i) {
            co_await at(day_.sent_within * i / day_.messages);
            auto const body = options_.body ? options_.body(i) : draw_body(day_, i);
            sqs::send_message_request request(url_, body);
            std::string group;
            if (day_.groups > 0) {
                group = "g" + std::to_string(i % day_.groups);
                request.group_id = group;
                request.deduplication_id = std::to_string(i);
            }
            books_.sent(i, std::move(group), body);
            co_await local_.send_message(std::move(request));
        }
        sent_all_ = true;
    }

    void set_weather(spell const& now)
    {
        weather_ = now;
        engine_.set_faults(now.faults);
        for (auto& p : processes_)
            p->set_weather(now);
    }

    asio::awaitable<void> change_weather()
    {
        for (auto const& s : day_.spells) {
            co_await at(s.from);
            books_.note("bad weather begins");
            set_weather(s);
            co_await at(s.until);
            books_.note("bad weather ends");
            set_weather(spell());
        }
    }

    asio::awaitable<void> visit_incidents()
    {
        for (auto const& i : day_.incidents) {
            co_await at(i.at);
            auto& p = processes_[static_cast<std::size_t>(i.process)];
            switch (i.what) {
            case incident::kind::pause: pause(p->id, i.by); break;
            case incident::kind::kill:
                retire(*p);
                p.reset();
                p = make_process();
                break;
            case incident::kind::stop: p->drain(i.by); break;
            case incident::kind::hurry:
                p->drain(i.by);
                spawn(hurry(p->id, i));
                break;
            case incident::kind::start:
                retire(*p);
                p.reset();
                p = make_process();
                p->drain(i.by);
                break;
            case incident::kind::clock:
                books_.note("the calendar of process " + std::to_string(p->id) + " jumps");
                p->jump_calendar(i.by);
                break;
            }
        }
    }

    process* find(int id)
    {
        auto const at = std::ranges::find(processes_, id, [](auto const& p) { return p ? p->id : -1; });
        return at == processes_.end() ? nullptr : at->get(); // it may be gone
    }

    asio::awaitable<void> hurry(int id, incident what)
    {
        co_await at(what.at + what.then);
        if (auto* const p = find(id); p && !p->ended()) p->drain(what.by);
    }

    void pause(int id, milliseconds length)
    {
        auto* const p = find(id);
        if (!p || p->paused) return;
        p->paused = true;
        p->disturb();
        books_.sleeps(id);
        spawn(wake(id, time_.now() + length));
    }

    asio::awaitable<void> wake(int id, tick when)
    {
        auto const timer = time_.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(when);
        auto* const p = find(id);
        if (!p) co_return;
        p->paused = false;
        p->disturb();
        books_.woke(id);
    }

    std::unique_ptr<process> make_process()
    {
        auto p = std::make_unique<process>(
            process::surroundings{day_, time_, books_, {local_, time_, io_.get_executor()}, url_, poison_url_,
                options_.subject, options_.handle, [this](int id, milliseconds d) { pause(id, d); }},
            next_id_++);
        p->set_weather(weather_);
        return p;
    }

    /// Rolling deployment.
    asio::awaitable<void> replace(int id, milliseconds delay)
    {
        auto const timer = time_.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(time_.now() + delay);
        auto const at = std::ranges::find(processes_, id, [](auto const& p) { return p ? p->id : -1; });
        if (at == processes_.end() || closing_) co_return;
        retire(**at);
        *at = make_process();
    }

    /// Its books are closed.
    void retire(process const& p)
    {
        result_.requests += p.requests();
        if (p.ended()) result_.drains.add(p.report());
    }

    tick last_event() const
    {
        milliseconds last = day_.sent_within;
        for (auto const& s : day_.spells)
            last = std::max(last, s.until);
        for (auto const& i : day_.incidents)
            last = std::max(last, i.at + (i.what == incident::kind::pause ? i.by : 0ms));
        return tick() + last + 1ms;
    }

    /// Everything that can happen now; then on to the next moment. False when there is none before `end`.
    bool step(tick end)
    {
        for (std::size_t done = 1; done != 0;) {
            io_.restart();
            done = io_.poll();
            for (auto& p : processes_)
                done += p->run();
            result_.steps += done;
            for (auto& p : processes_) {
                if (!p->ended() || closing_ || std::exchange(p->replaced, true)) continue;
                spawn(replace(p->id, p->halted() ? restart_delay : 0ms));
                ++done;
            }
        }
        return time_.fire_next(end);
    }

    template <class Done>
    bool run_until(tick end, Done done)
    {
        for (auto next_look = time_.now();;) {
            if (time_.now() >= next_look) {
                if (done()) return true;
                next_look = time_.now() + 100ms;
            }
            if (!step(end)) return done();
        }
    }

    bool is_empty()
    {
        sqs::get_queue_attributes_request ask(url_);
        auto const got = engine_.get_queue_attributes(ask, time_.wall()).value().attributes;
        for (auto const* name : {"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible",
                 "ApproximateNumberOfMessagesDelayed"})
            if (got.at(name) != "0") return false;
        return true;
    }

    std::set<int> dead()
    {
        std::set<int> out;
        while (!dead_url_.empty()) {
            sqs::receive_message_request ask(dead_url_);
            auto const got = engine_.receive_message(ask, time_.wall()).value().answer;
            if (got.messages.empty()) break;
            for (auto const& m : got.messages) {
                sqs::delete_message_request done(
                    dead_url_, std::string(m.receipt_handle)); // it would block its group
                engine_.delete_message(done, time_.wall()).value();
                out.insert(books_.number_of(m.body));
            }
        }
        return out;
    }

    scenario const& day_;
    run_options const& options_;
    virtual_clock time_;
    broker::engine engine_{broker::engine_options{.seed = 1}}; // what is random comes from the day
    witness books_;
    asio::io_context io_; // the service and the script; what it destroys refers to the members above
    local_api local_{engine_, time_, io_.get_executor()};
    std::string url_, dead_url_, poison_url_;
    spell weather_;
    std::vector<std::unique_ptr<process>> processes_;
    int next_id_ = 0;
    bool sent_all_ = false, closing_ = false;
    run_result result_;
};

} // namespace

void drain_sum::add(drain_report const& one)
{
    drain_sum of_one;
    of_one.drains = 1;
    of_one.clean = one.clean() ? 1 : 0;
    of_one.of_all = one;
    add(of_one);
}

void drain_sum::add(drain_sum const& more)
{
    drains += more.drains;
    clean += more.clean;
    of_all.took = std::max(of_all.took, more.of_all.took);
    for (auto const count :
        {&drain_report::finished, &drain_report::cancelled, &drain_report::released, &drain_report::stranded,
            &drain_report::running, &drain_report::at_risk, &drain_report::lost, &drain_report::polls})
        of_all.*count += more.of_all.*count;
}

run_result run(scenario const& day, run_options const& options)
{
    world all(day, options);
    return all.run();
}

} // namespace quern::sim
