#include <quern/sim/world.hpp>

#include <quern/sim/local_api.hpp>
#include <quern/sim/process.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <charconv>

namespace quern::sim {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

class world {
public:
    world(scenario const& day, run_options const& options) : day_(day), options_(options), books_(time_, limits(day))
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
        auto const end = fine_from + day_.patience;
        auto const empty = run_until(end, [this] { return sent_all_ && is_empty(); });
        closing_ = true;
        for (auto& p : processes_)
            if (!p->draining()) p->drain(day_.consumer.drain_deadline);
        run_until(time_.now() + 1h,
            [this] { return std::ranges::all_of(processes_, [](auto const& p) { return p->ended(); }); });
        books_.finished(empty, dead());
        run_result out;
        out.violations = std::move(books_.violations);
        out.trace = std::move(books_.trace);
        out.lasted = std::chrono::duration_cast<milliseconds>(time_.now() - tick());
        out.steps = steps_;
        for (auto const& p : processes_)
            out.requests += p->requests();
        return out;
    }

private:
    static witness::limits limits(scenario const& day)
    {
        milliseconds slowest = day.latency;
        for (auto const& s : day.spells) {
            auto const& f = s.faults.everywhere;
            slowest = std::max({slowest, f.latency_max, f.slow > 0 ? f.latency_max + 2s : 0ms});
        }
        return {slowest + 10ms, day.consumer.max_in_flight, day.groups > 0, day.discards_malformed()};
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
            sqs::send_message_request request(url_, std::to_string(i));
            std::string group;
            if (day_.groups > 0) {
                group = "g" + std::to_string(i % day_.groups);
                request.group_id = group;
                request.deduplication_id = std::to_string(i);
            }
            books_.sent(i, std::move(group));
            co_await local_.send_message(std::move(request));
        }
        sent_all_ = true;
    }

    void set_faults(broker::fault_settings const& faults)
    {
        faults_ = faults;
        engine_.set_faults(faults);
        for (auto& p : processes_) {
            p->set_faults(faults);
            p->disturb();
        }
    }

    asio::awaitable<void> change_weather()
    {
        for (auto const& s : day_.spells) {
            co_await at(s.from);
            books_.note("bad weather begins");
            set_faults(s.faults);
            co_await at(s.until);
            books_.note("bad weather ends");
            set_faults(broker::fault_settings());
        }
    }

    asio::awaitable<void> visit_incidents()
    {
        for (auto const& i : day_.incidents) {
            co_await at(i.at);
            auto& p = processes_[static_cast<std::size_t>(i.process)];
            switch (i.what) {
            case incident::kind::pause:
                if (!p->paused) spawn(pause(p->id, i.by));
                break;
            case incident::kind::kill:
                p.reset();
                p = make_process();
                break;
            case incident::kind::stop: p->drain(i.by); break;
            case incident::kind::hurry:
                p->drain(i.by);
                p->drain(i.by);
                break;
            case incident::kind::clock:
                books_.note("the calendar of process " + std::to_string(p->id) + " jumps");
                p->jump_calendar(i.by);
                break;
            }
        }
    }

    asio::awaitable<void> pause(int id, milliseconds length)
    {
        set_paused(id, true);
        auto const timer = time_.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(time_.now() + length);
        set_paused(id, false);
    }

    void set_paused(int id, bool paused)
    {
        for (auto& p : processes_) {
            if (p->id != id) continue; // it may be gone
            p->paused = paused;
            p->disturb();
            if (paused)
                books_.sleeps(id);
            else
                books_.woke(id);
        }
    }

    std::unique_ptr<process> make_process()
    {
        auto p =
            std::make_unique<process>(process::surroundings{day_, time_, books_, {local_, time_, io_.get_executor()},
                                          url_, poison_url_, options_.subject},
                next_id_++);
        p->set_faults(faults_);
        return p;
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
            steps_ += done;
            for (auto& p : processes_) {
                if (!p->ended() || closing_) continue;
                p = make_process(); // rolling deployment
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
            for (auto const& m : got.messages)
                out.insert(std::stoi(std::string(m.body)));
        }
        return out;
    }

    scenario const& day_;
    run_options const& options_;
    virtual_clock time_;
    broker::engine engine_;
    witness books_;
    asio::io_context io_; // the service and the script; what it destroys refers to the members above
    local_api local_{engine_, time_, io_.get_executor()};
    std::string url_, dead_url_, poison_url_;
    broker::fault_settings faults_;
    std::vector<std::unique_ptr<process>> processes_;
    int next_id_ = 0;
    bool sent_all_ = false, closing_ = false;
    std::size_t steps_ = 0;
};

} // namespace

run_result run(scenario const& day, run_options const& options)
{
    world all(day, options);
    return all.run();
}

} // namespace quern::sim
