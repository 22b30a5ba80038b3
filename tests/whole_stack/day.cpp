#include "day.hpp"

#include "virtual_libc.hpp"

#include <quern/broker/server.hpp>
#include <quern/consumer/consumer.hpp>
#include <quern/sqs/queue_attributes.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include <sched.h>

namespace quern::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::ip::tcp;
using std::chrono::milliseconds;
using kind = stack_day::event::kind;

namespace {

constexpr auto as_values = asio::as_tuple(asio::use_awaitable);
constexpr milliseconds receive_slack = 5s; // the client's default
constexpr milliseconds until_known = 2min; // what hangs on a dead connection has been given up by then

/// As a consumer sets it: two attempts within the third of a lease that is left at its extension.
milliseconds request_timeout(stack_day const& day)
{
    return std::min<milliseconds>(10s, milliseconds(day.visibility) / 6);
}

void rethrow(std::exception_ptr bug)
{
    if (bug) std::rethrow_exception(bug);
}

std::size_t open_descriptors()
{
    auto const all = std::filesystem::directory_iterator("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// The server's calendar, which may be another than that of its clients.
struct skewed_clock final : clock {
    tick now() const override { return real_clock().now(); }
    wall_time wall() const override { return real_clock().wall() + by; }
    std::unique_ptr<timer> make_timer(asio::any_io_executor ex) override
    {
        return real_clock().make_timer(std::move(ex));
    }

    wall_time::duration by{};
};

/// Hands out keys that end, as ECS does, and counts how often it is asked.
class key_cabinet {
public:
    key_cabinet(asio::io_context& io, std::chrono::seconds last)
        : io_(io), last_(last), door_(io, {asio::ip::address_v4::loopback(), 0})
    {
        asio::co_spawn(io_, serve(), rethrow);
    }

    std::string url() const { return "http://127.0.0.1:" + std::to_string(door_.local_endpoint().port()) + "/keys"; }

    std::size_t asked = 0;
    bool is_silent = false;

private:
    asio::awaitable<void> serve()
    {
        for (;;) {
            auto [failed, one] = co_await door_.async_accept(as_values);
            if (failed) co_return;
            ++asked;
            if (is_silent)
                left_waiting_.push_back(std::move(one));
            else
                asio::co_spawn(io_, answer(std::move(one)), rethrow);
        }
    }

    asio::awaitable<void> answer(tcp::socket to)
    {
        std::string request;
        auto const [failed, size] =
            co_await asio::async_read_until(to, asio::dynamic_buffer(request), "\r\n\r\n", as_values);
        if (failed) co_return;
        auto const ends = std::chrono::system_clock::to_time_t(real_clock().wall() + last_);
        char text[32];
        std::tm parts{};
        std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", ::gmtime_r(&ends, &parts));
        auto const body = R"({"AccessKeyId":"quern","SecretAccessKey":"quern","Token":"","Expiration":")" +
            std::string(text) + "\"}";
        auto const said =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n\r\n" + body;
        co_await asio::async_write(to, asio::buffer(said), as_values);
    }

    asio::io_context& io_;
    std::chrono::seconds const last_;
    tcp::acceptor door_;
    std::vector<tcp::socket> left_waiting_;
};

class stack_world {
public:
    stack_world(stack_day const& day, std::string const& certificates)
        : day_(day), server_(io_.get_executor(), server_options(certificates), {}, server_time_),
          wire_(io_, listening(server_), day.seed), keys_(io_, day.keys_last), dice_(day.seed)
    {
        auto const set = [](char const* name, std::string const& value) { ::setenv(name, value.c_str(), 1); };
        set("AWS_REGION", "us-east-1");
        set("AWS_ENDPOINT_URL_SQS",
            (day_.tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(wire_.port()));
        set("AWS_CA_BUNDLE", certificates + "/authority.pem");
        set("AWS_CONTAINER_CREDENTIALS_FULL_URI", keys_.url());
        for (auto const* file : {"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"})
            set(file, "/dev/null");
        for (auto const* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_ENDPOINT_URL"})
            ::unsetenv(name);
        url_ = server_.queues().create_queue(sqs::create_queue_request("orders"), server_.now()).value().queue_url;
    }

    stack_result run()
    {
        for (std::size_t i = 0; i != day_.processes; ++i)
            start(i);
        asio::co_spawn(io_, send(), rethrow);
        asio::co_spawn(io_, change_weather(), rethrow);
        asio::co_spawn(io_, visit_events(), rethrow);
        auto const empty = run_until(day_.sent_until + 2h, [this] { return sent_ == day_.messages && depth() == 0; });
        if (!empty) complain("the queue does not run empty: " + std::to_string(depth()) + " messages are left");
        closing_ = true;
        for (auto& p : processes_)
            drain(*p, 20s);
        run_until(virtual_time::now() + 1min,
            [this] { return std::ranges::all_of(processes_, [](auto const& p) { return p->has_ended; }); });
        judge();
        return std::move(result_);
    }

private:
    struct process {
        std::size_t slot;
        int id;
        asio::io_context io;
        std::optional<consumer> it;
        std::chrono::nanoseconds told_to_stop{}, limit{};
        bool is_stopping = false, has_ended = false;
    };

    /// Judges each request of a process as it ends.
    struct judge_of_requests final : sqs::request_observer {
        judge_of_requests(stack_world& w, int process) : world(w), id(process) {}

        void request_done(sqs::observed_request const& r) override { world.requested(id, r); }

        stack_world& world;
        int const id;
    };

    broker::server_options server_options(std::string const& certificates) const
    {
        broker::server_options out;
        out.port = 0;
        if (!day_.tls) return out;
        out.tls_certificate = certificates + "/server.pem";
        out.tls_key = certificates + "/server-key.pem";
        return out;
    }

    static std::uint16_t listening(broker::server& s)
    {
        s.listen().value();
        return s.port();
    }

    void note(std::string const& what)
    {
        char at[32];
        std::snprintf(at, sizeof at, "%.3f s  ", std::chrono::duration<double>(virtual_time::now()).count());
        auto line = at + what;
        for (auto const port : {wire_.port(), server_.port()}) { // another each time
            auto const digits = std::to_string(port);
            for (auto found = line.find(digits); found != line.npos; found = line.find(digits))
                line.replace(found, digits.size(), "PORT");
        }
        result_.trace.push_back(std::move(line));
    }

    void complain(std::string const& what)
    {
        note("VIOLATION: " + what);
        result_.violations.push_back(result_.trace.back());
    }

    bool is_calm() const { return virtual_time::now() >= day_.calm_from; }

    /// Requests that begin later than that have no excuse, until something happens again.
    void excuse_for(std::chrono::nanoseconds length)
    {
        fair_from_ = std::max(fair_from_, virtual_time::now() + length);
    }

    void start(std::size_t slot)
    {
        auto p = std::make_unique<process>();
        p->slot = slot;
        p->id = next_id_++;
        consumer_options options;
        options.seed = day_.seed * 1'000 + static_cast<std::uint64_t>(p->id) + 1;
        options.visibility_timeout = day_.visibility;
        options.wait_time = day_.wait;
        options.limits.max_in_flight = day_.in_flight;
        options.backoff = policy::backoff::fixed({1s});
        options.client.observer = std::make_shared<judge_of_requests>(*this, p->id);
        options.log = [this, id = p->id](log_level level, log_text const& text) {
            note("process " + std::to_string(id) + ": " + std::string(text));
            if (level >= log_level::warning && is_calm()) ++warnings_in_calm_;
        };
        p->it.emplace(
            p->io, url_, [this](delivery& d) { return handle(d); }, options);
        asio::co_spawn(p->io, live(*p), rethrow);
        note("process " + std::to_string(p->id) + " starts");
        if (slot < processes_.size())
            processes_[slot] = std::move(p);
        else
            processes_.push_back(std::move(p));
    }

    asio::awaitable<void> live(process& p)
    {
        auto const said = co_await p.it->run();
        p.has_ended = true;
        auto const took = virtual_time::now() - p.told_to_stop;
        note("process " + std::to_string(p.id) + " has ended" + (said ? "" : ": " + describe(said.error())));
        if (!p.is_stopping) complain("process " + std::to_string(p.id) + " ends, and nobody has told it to");
        if (p.is_stopping && took > p.limit + 10ms)
            complain("process " + std::to_string(p.id) + " drains for longer than it may");
    }

    asio::awaitable<outcome> handle(delivery& d)
    {
        auto const number = std::stoi(std::string(d.body()));
        auto const work = dice_.between(0ms, day_.longest_work);
        auto const fails = day_.fails > 0 && dice_.up_to(1) < day_.fails && d.receive_count() <= 5;
        asio::steady_timer timer(co_await asio::this_coro::executor, work);
        co_await timer.async_wait(asio::use_awaitable);
        if (fails) throw std::runtime_error("a try that fails");
        handled_.insert(number);
        co_return ack();
    }

    void requested(int process, sqs::observed_request const& r)
    {
        ++result_.requests;
        auto const who = "process " + std::to_string(process) + ": " + std::string(r.operation);
        if (r.why) note(who + " fails after " + std::to_string(r.attempts) + ": " + describe(*r.why));
        auto const polls = r.operation == "ReceiveMessage";
        auto const limit = polls ? milliseconds(day_.wait) + receive_slack : request_timeout(day_);
        auto const each = polls ? 2 * limit : limit; // a poll has all of it once it is connected
        auto const most = std::max(1, r.attempts) * (each + 20s) + keys_wait_;
        if (r.took > most) complain(who + " takes " + std::to_string(r.took / 1s) + " s");
        auto const is_early =
            r.why && r.why->code == errc::timed_out && r.took < limit - (polls ? milliseconds(day_.wait) : 1ms);
        if (is_early) complain(who + " times out after " + std::to_string(r.took / 1ms) + " ms");
        if (virtual_time::now() - r.took < fair_from_) return;
        if (r.why && r.why->code != errc::stopped) complain(who + " fails in fair weather: " + describe(*r.why));
        if (!polls && r.took > 1s) complain(who + " takes " + std::to_string(r.took / 1ms) + " ms in fair weather");
    }

    void drain(process& p, milliseconds limit)
    {
        if (std::exchange(p.is_stopping, true)) return;
        p.told_to_stop = virtual_time::now();
        p.limit = limit;
        note("process " + std::to_string(p.id) + " is told to stop");
        p.it->stop(limit);
    }

    asio::awaitable<void> at(milliseconds when)
    {
        asio::steady_timer timer(io_, when - virtual_time::now());
        co_await timer.async_wait(asio::use_awaitable);
    }

    asio::awaitable<void> send()
    {
        for (; sent_ != day_.messages; ++sent_) {
            co_await at(day_.sent_until * sent_ / day_.messages);
            sqs::send_message_request one(url_, std::to_string(sent_));
            server_.queues().send_message(std::move(one), server_.now()).value();
            server_.settle();
        }
    }

    asio::awaitable<void> change_weather()
    {
        for (auto const& s : day_.spells) {
            co_await at(s.from);
            note("bad weather begins");
            wire_.set(s.faults);
            excuse_for(s.until - s.from + until_known);
            co_await at(s.until);
            note("bad weather ends");
            wire_.set({});
        }
    }

    asio::awaitable<void> visit_events()
    {
        for (auto const& e : day_.events) {
            co_await at(e.at);
            to_do_.push_back(e); // not from within one of the contexts
        }
    }

    asio::awaitable<void> speak_again(milliseconds when)
    {
        co_await at(when);
        keys_.is_silent = false;
    }

    void visit(stack_day::event const& e)
    {
        switch (e.what) {
        case kind::kill:
            note("process " + std::to_string(processes_[e.process]->id) + " is killed");
            return start(e.process);
        case kind::stop: return drain(*processes_[e.process], e.by);
        case kind::cut:
            note("all connections are cut");
            excuse_for(1s);
            return wire_.break_all(false);
        case kind::silence:
            note("all connections are dead");
            excuse_for(until_known);
            return wire_.break_all(true);
        case kind::skew:
            note("the server's calendar is another");
            excuse_for(until_known);
            ++skews_;
            server_time_.by = std::chrono::duration_cast<wall_time::duration>(e.by);
            return;
        case kind::keys_gone:
            keys_.is_silent = true;
            excuse_for(e.by + until_known);
            keys_wait_ = 3min;
            return asio::co_spawn(io_, speak_again(e.at + e.by), rethrow);
        }
    }

    /// All that can happen now. Bytes that were sent are there when the kernel has had its turn.
    void settle()
    {
        for (std::size_t idle = 0, done = 0; idle != 3; idle = done == 0 ? idle + 1 : 0) {
            if (idle != 0) ::sched_yield();
            io_.restart();
            done = io_.poll();
            for (auto& p : processes_) {
                p->io.restart();
                done += p->io.poll();
            }
            while (!to_do_.empty()) {
                auto const e = to_do_.front();
                to_do_.pop_front();
                visit(e);
                ++done;
            }
            for (std::size_t i = 0; i != processes_.size() && !closing_; ++i) {
                if (!processes_[i]->has_ended) continue;
                start(i);
                ++done;
            }
        }
    }

    template <class Done>
    bool run_until(std::chrono::nanoseconds end, Done done)
    {
        for (settle(); !done(); settle()) {
            if (!virtual_time::jump(end)) return false;
        }
        return true;
    }

    std::size_t depth()
    {
        sqs::get_queue_attributes_request ask(url_);
        auto const got = server_.queues().get_queue_attributes(ask, server_.now()).value().attributes;
        return static_cast<std::size_t>(sqs::depth_in(got).value().total());
    }

    void judge()
    {
        result_.lasted = virtual_time::now();
        result_.connections = wire_.accepted();
        for (int i = 0; i != sent_; ++i)
            if (!handled_.contains(i) && depth() == 0) complain("message " + std::to_string(i) + " is lost");
        for (auto const& p : processes_)
            if (!p->has_ended) complain("process " + std::to_string(p->id) + " does not end");
        if (warnings_in_calm_ != 0 && day_.fails == 0)
            complain(std::to_string(warnings_in_calm_) + " warnings in calm weather");
        auto const seconds = static_cast<std::size_t>(result_.lasted / 1s);
        auto const lives = static_cast<std::size_t>(next_id_);
        auto const most_connections = 100 * lives + 3 * seconds * day_.processes;
        if (result_.connections > most_connections)
            complain(
                std::to_string(result_.connections) + " connections, more than " + std::to_string(most_connections));
        auto const most_asked = 4 * lives + 10 +
            lives * (2 * seconds / static_cast<std::size_t>(day_.keys_last.count()) + 1) +
            (keys_wait_ > 0s ? 20 * lives : 0);
        if (keys_.asked > most_asked)
            complain("keys are asked for " + std::to_string(keys_.asked) + " times, more than " +
                std::to_string(most_asked));
        auto const served = server_.counters();
        auto const refused = served.errors - served.faults;
        if (refused > 40 * (lives + static_cast<std::size_t>(skews_)))
            complain(std::to_string(refused) + " requests are refused");
    }

    stack_day const& day_;
    stack_result result_;
    asio::io_context io_{1}; // the server, the wire, the cabinet and the script
    skewed_clock server_time_;
    broker::server server_;
    hostile_wire wire_;
    key_cabinet keys_;
    sim::dice dice_;
    std::string url_;
    std::vector<std::unique_ptr<process>> processes_;
    std::deque<stack_day::event> to_do_;
    std::set<int> handled_;
    std::chrono::nanoseconds keys_wait_{}, fair_from_{};
    int sent_ = 0, next_id_ = 0, skews_ = 0;
    std::size_t warnings_in_calm_ = 0;
    bool closing_ = false;
};

} // namespace

stack_result run_stack_day(stack_day const& day, std::string const& certificates)
{
    virtual_time::begin();
    auto const before = open_descriptors();
    auto out = std::make_unique<stack_world>(day, certificates)->run();
    auto const after = open_descriptors();
    if (after > before)
        out.violations.push_back(std::to_string(after - before) + " descriptors are left open after the day");
    return out;
}

} // namespace quern::test
