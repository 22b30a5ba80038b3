#include <quern/sim/world.hpp>

#include <quern/sim/detail/day_rules.hpp>
#include <quern/sim/detail/downstream.hpp>
#include <quern/sim/detail/earlier_life.hpp>
#include <quern/sim/detail/healthy.hpp>
#include <quern/sim/detail/part.hpp>
#include <quern/sim/detail/recorder.hpp>
#include <quern/sim/detail/weather.hpp>
#include <quern/sim/local_api.hpp>
#include <quern/sim/virtual_clock.hpp>
#include <quern/sqs/queue_attributes.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <set>

namespace quern::sim {

using namespace detail;
namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

using kind = incident::kind;

constexpr char const* redrive_policy = "RedrivePolicy";
constexpr milliseconds restart_delay{10'000}; // of a process that has halted: no supervisor does it at once

class world {
public:
    world(scenario const& day, run_options const& options)
        : day_(day), options_(options), days_(days_of(day)),
          books_(time_, rules_of(day, static_cast<bool>(options.handle)))
    {
        books_.keeps_trace = options.trace;
        create_queues();
        set_weather(spell());
        spawn(send());
        spawn(change_weather());
        spawn(visit_incidents());
        spawn(downstream_.change_servers());
        if (day.receives_before != 0) spawn(lower_receives());
        clients_.resize(static_cast<std::size_t>(day.processes));
        for (int i = 0; i < day.processes * day.together; ++i)
            processes_.push_back(make_process(i));
    }

    run_result run()
    {
        auto const fine_from = last_event();
        while (time_.now() < fine_from && !is_over() && step(fine_from)) {
        }
        auto const empty = run_until(fine_from + day_.patience, [this] { return sent_all_ && is_empty(); });
        closing_ = true;
        for (auto& p : processes_)
            if (!p->draining()) p->drain(p->drain_deadline());
        run_until(time_.now() + 1h,
            [this] { return std::ranges::all_of(processes_, [](auto const& p) { return p->ended(); }); });
        books_.finished(empty, dead());
        for (auto& p : processes_)
            retire(*p);
        result_.violations = std::move(books_.violations);
        result_.warnings = std::move(books_.warnings);
        auto& broken = result_.violations;
        if (!broken.empty()) broken.insert(broken.begin(), result_.warnings.begin(), result_.warnings.end());
        result_.trace = std::move(books_.trace);
        result_.handled = std::move(books_.handled);
        result_.lasted = std::chrono::duration_cast<milliseconds>(time_.now() - tick());
        return std::move(result_);
    }

private:
    std::string policy_with(int max_receives) const
    {
        return R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead)" +
            std::string(day_.groups > 0 ? ".fifo" : "") + R"(","maxReceiveCount":)" + std::to_string(max_receives) +
            "}";
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
            wanted.attributes[redrive_policy] =
                policy_with(day_.receives_before != 0 ? day_.receives_before : day_.max_receives);
        }
        for (int i = 0; i < day_.queues; ++i) {
            wanted.queue_name = "orders" + (i == 0 ? "" : "-" + std::to_string(i)) + suffix;
            urls_.push_back(engine_.create_queue(wanted, time_.wall()).value().queue_url);
        }
        auto const rejects = [](scenario const& day) { return day.consumer.poison_queue.has_value(); };
        if (std::ranges::none_of(days_, rejects)) return;
        wanted.queue_name = "poison" + suffix;
        wanted.attributes.erase(redrive_policy);
        poison_url_ = engine_.create_queue(wanted, time_.wall()).value().queue_url;
    }

    void spawn(asio::awaitable<void> work)
    {
        asio::co_spawn(io_, std::move(work), [](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
        });
    }

    asio::awaitable<void> at(tick when)
    {
        auto const timer = time_.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(when);
    }

    asio::awaitable<void> send()
    {
        for (int i = 0; i < day_.messages; ++i) {
            co_await at(tick() + sent_at(day_, i));
            auto const body = options_.body ? options_.body(i) : draw_body(day_, i);
            auto const& url = urls_[static_cast<std::size_t>(i % day_.queues)];
            sqs::send_message_request request(url, body);
            std::string group;
            if (day_.groups > 0) {
                request.group_id = "g" + std::to_string(group_of(day_, i));
                group = url + ' ' + *request.group_id; // of another queue it is another
                request.deduplication_id = std::to_string(i);
            }
            auto const is_copied = !poison_url_.empty() || !dead_url_.empty(); // when it is rejected
            auto const came_back = !options_.body && is_copied && i % 3 == 1;
            if (came_back) request.attributes = earlier_life(i);
            if (is_copied) request.system_attributes = trace_header();
            if (day_.fair_queue) request.group_id = "tenant-" + std::to_string(tenant_of(day_, i));
            books_.sent(i, std::move(group), body, came_back);
            co_await local_.send_message(std::move(request));
        }
        sent_all_ = true;
    }

    /// Somebody changes the redrive policy while the consumers run.
    asio::awaitable<void> lower_receives()
    {
        co_await at(tick() + day_.lowered_at);
        books_.note("the redrive policy is changed");
        for (auto const& url : urls_) {
            sqs::set_queue_attributes_request request;
            request.queue_url = url;
            request.attributes[redrive_policy] = policy_with(day_.max_receives);
            engine_.set_queue_attributes(request, time_.wall()).value();
        }
        for (auto& p : processes_)
            p->notes().strike(lowered_policy());
    }

    /// Puts the faults of this time into force: the engine plays those of the service, each process those of its
    /// network.
    void set_weather(spell const& now)
    {
        weather_ = now;
        engine_.set_faults(with_short_answers(now.faults, day_.short_answers));
        for (auto& p : processes_)
            p->set_weather(now);
    }

    asio::awaitable<void> change_weather()
    {
        for (auto const& s : day_.spells) {
            co_await at(tick() + s.from);
            books_.note("bad weather begins");
            set_weather(s);
            co_await at(tick() + s.until);
            books_.note("bad weather ends");
            set_weather(spell());
        }
    }

    asio::awaitable<void> visit_incidents()
    {
        for (auto const& i : day_.incidents) {
            co_await at(tick() + i.at);
            for (int k = 0; k < day_.together; ++k)
                visit(i, processes_[static_cast<std::size_t>(i.process * day_.together + k)]);
        }
    }

    void visit(incident const& i, std::unique_ptr<process>& p)
    {
        p->notes().strike(fault_of(i.what));
        switch (i.what) {
        case kind::pause: return pause(p->id, i.by);
        case kind::kill: return renew(p);
        case kind::stop: return p->drain(i.by);
        case kind::hurry: p->drain(i.by); return spawn(hurry(p->id, i));
        case kind::start: renew(p); return p->drain(i.by);
        case kind::clock:
            books_.note("the calendar of process " + std::to_string(p->id) + " jumps");
            return p->jump_calendar(i.by);
        case kind::turn: return p->turn(i.limits);
        case kind::rest: p->rest(true); return spawn(go_on(p->id, i.at + i.by));
        }
    }

    asio::awaitable<void> go_on(int id, milliseconds when)
    {
        co_await at(tick() + when);
        if (auto* const p = find(id)) p->rest(false);
    }

    process* find(int id)
    {
        auto const at = std::ranges::find(processes_, id, [](auto const& p) { return p ? p->id : -1; });
        return at == processes_.end() ? nullptr : at->get(); // it may be gone
    }

    asio::awaitable<void> hurry(int id, incident what)
    {
        co_await at(tick() + what.at + what.then);
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
        co_await at(when);
        auto* const p = find(id);
        if (!p) co_return;
        p->paused = false;
        p->disturb();
        books_.woke(id);
    }

    std::unique_ptr<process> make_process(int slot)
    {
        auto const its = static_cast<std::size_t>(slot / day_.together);
        auto const& day = days_[its % days_.size()];
        auto& polls = clients_[its];
        if (day.connections != 0 && !polls) polls = std::make_shared<poll_places>(day.connections);
        network::place service{local_, time_, io_.get_executor(), nullptr, {}, polls};
        auto const id = next_id_++;
        if (!day_.versions.empty()) books_.obeys(id, rules_of(day, static_cast<bool>(options_.handle)));
        auto const& url = urls_[static_cast<std::size_t>(slot % day_.queues)];
        process::surroundings const around{day, time_, books_, std::move(service), url, poison_url_, options_.subject,
            options_.handle, day_.servers.empty() ? nullptr : &downstream_,
            [this](int who, milliseconds d) { pause(who, d); }, options_.reached};
        auto p = std::make_unique<process>(around, id, slot);
        p->set_weather(weather_);
        return p;
    }

    /// Another takes its place.
    void renew(std::unique_ptr<process>& p)
    {
        auto const slot = p->slot;
        retire(*p);
        p.reset();
        p = make_process(slot);
    }

    /// Rolling deployment.
    asio::awaitable<void> replace(int id, milliseconds delay)
    {
        co_await at(time_.now() + delay);
        auto const at = std::ranges::find(processes_, id, [](auto const& p) { return p ? p->id : -1; });
        if (at == processes_.end() || closing_) co_return;
        renew(*at);
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
        if (!day_.servers.empty()) last = std::max(last, day_.servers.back().from);
        for (auto const& i : day_.incidents)
            last = std::max(last, i.at + (i.what == kind::pause || i.what == kind::rest ? i.by : 0ms));
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

    /// Enough is known of it.
    bool is_over()
    {
        auto const& all = books_.violations;
        for (; options_.enough && !over_ && judged_ < all.size(); ++judged_)
            over_ = options_.enough(all[judged_]);
        return over_;
    }

    template <class Done>
    bool run_until(tick end, Done done)
    {
        for (auto next_look = time_.now();;) {
            if (time_.now() >= next_look) {
                if (done()) return true;
                if (is_over()) return false;
                next_look = time_.now() + 100ms;
            }
            if (!step(end)) return done();
        }
    }

    bool is_empty()
    {
        return std::ranges::all_of(urls_, [this](std::string const& url) {
            sqs::get_queue_attributes_request ask(url);
            auto const got = engine_.get_queue_attributes(ask, time_.wall()).value().attributes;
            return sqs::depth_in(got).value().total() == 0;
        });
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
    std::vector<scenario> const days_;
    virtual_clock time_;
    broker::engine engine_{broker::engine_options{
        .seed = 1, .noise_noticed_within = day_.fair_queue.value_or(0s)}}; // what else is random comes from the day
    witness books_;
    asio::io_context io_; // the service and the script; what it destroys refers to the members above
    local_api local_{engine_, time_, io_.get_executor()};
    detail::downstream downstream_{day_, time_, io_.get_executor()};
    std::vector<std::string> urls_;
    std::string dead_url_, poison_url_;
    spell weather_;
    std::vector<std::shared_ptr<poll_places>> clients_; // of each process
    std::vector<std::unique_ptr<process>> processes_;   // a consumer each
    int next_id_ = 0;
    std::size_t judged_ = 0; // of the broken promises
    bool sent_all_ = false, closing_ = false, over_ = false;
    run_result result_;
};

} // namespace

run_result run(scenario const& day, run_options const& options)
{
    auto out = world(day, options).run();
    if (!day.healthy) return out;
    auto without = day;
    without.consumer.outage.breaker.reset();
    auto const more = worse_for_the_healthy(day, world(without, {}).run().handled, out.handled);
    out.violations.insert(out.violations.end(), more.begin(), more.end());
    return out;
}

} // namespace quern::sim
