#include "day.hpp"

#include "key_cabinet.hpp"
#include "stack_books.hpp"
#include "virtual_libc.hpp"

#include <quern/broker/server.hpp>
#include <quern/consumer/consumer.hpp>
#include <quern/sqs/queue_attributes.hpp>

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include <sched.h>

namespace quern::test {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using kind = stack_day::event::kind;

namespace {

constexpr int most_turns = 50'000;         // at one moment
constexpr int at_once = 6;                 // messages that are sent
constexpr milliseconds until_known = 2min; // what hangs on a dead connection has been given up by then

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
        for (auto const port : {wire_.port(), server_.port()})
            books_.hide(port);
        sqs::client_options options; // fewer connections than there are messages at once
        options.connections.control_connections = 2;
        options.request_timeout = request_timeout(day_);
        options.observer = books_.of_process(-1);
        sender_.emplace(io_.get_executor(), options);
        url_ = server_.queues().create_queue(sqs::create_queue_request("orders"), server_.now()).value().queue_url;
    }

    stack_result run()
    {
        for (std::size_t i = 0; i != day_.processes; ++i)
            start(i);
        asio::co_spawn(io_, send(), rethrow);
        asio::co_spawn(io_, change_weather(), rethrow);
        asio::co_spawn(io_, visit_events(), rethrow);
        auto const patience = 2h + 2 * day_.messages * day_.longest_work; // one at a time, and a few of them twice
        auto const empty =
            run_until(day_.sent_until + patience, [this] { return sent_ == day_.messages && depth() == 0; });
        if (books_.is_broken()) return books_.close({});
        if (!empty)
            books_.complain("the queue does not run empty: " + std::to_string(depth()) + " messages are left");
        closing_ = true;
        for (auto& p : processes_)
            drain(*p, 20s);
        run_until(virtual_time::now() + 1min,
            [this] { return std::ranges::all_of(processes_, [](auto const& p) { return p->has_ended; }); });
        judge();
        auto const served = server_.counters();
        return books_.close({static_cast<std::size_t>(next_id_), wire_.accepted(), keys_.asked,
            served.errors - served.faults, skews_});
    }

private:
    struct process {
        int id;
        asio::io_context io;
        std::optional<consumer> it;
        std::chrono::nanoseconds told_to_stop{}, limit{};
        bool is_stopping = false, has_ended = false;
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

    void start(std::size_t slot)
    {
        auto p = std::make_unique<process>();
        p->id = next_id_++;
        consumer_options options;
        options.seed = day_.seed * 1'000 + static_cast<std::uint64_t>(p->id) + 1;
        options.visibility_timeout = day_.visibility;
        options.wait_time = day_.wait;
        options.limits.max_in_flight = day_.in_flight;
        options.backoff = policy::backoff::fixed({1s});
        options.client.observer = books_.of_process(p->id);
        options.log = [this, id = p->id](
                          log_level level, log_text const& text) { books_.logged(id, level, std::string(text)); };
        p->it.emplace(
            p->io, url_, [this](delivery& d) { return handle(d); }, options);
        asio::co_spawn(p->io, live(*p), rethrow);
        books_.note("process " + std::to_string(p->id) + " starts");
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
        books_.note("process " + std::to_string(p.id) + " has ended" + (said ? "" : ": " + describe(said.error())));
        if (!p.is_stopping) books_.complain("process " + std::to_string(p.id) + " ends, and nobody has told it to");
        if (p.is_stopping && took > p.limit + 10ms)
            books_.complain("process " + std::to_string(p.id) + " drains for longer than it may");
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

    void drain(process& p, milliseconds limit)
    {
        if (std::exchange(p.is_stopping, true)) return;
        p.told_to_stop = virtual_time::now();
        p.limit = limit;
        books_.note("process " + std::to_string(p.id) + " is told to stop");
        p.it->stop(limit);
    }

    asio::awaitable<void> at(milliseconds when)
    {
        asio::steady_timer timer(io_, when - virtual_time::now());
        co_await timer.async_wait(asio::use_awaitable);
    }

    asio::awaitable<void> send()
    {
        for (int i = 0; i != day_.messages; ++i) {
            co_await at(day_.sent_until * (i / at_once * at_once) / day_.messages);
            asio::co_spawn(io_, send(i), rethrow);
        }
    }

    /// Sends a message until an answer has come; it may arrive several times.
    asio::awaitable<void> send(int number)
    {
        for (bool is_sent = false; !is_sent;) {
            auto const said = co_await sender_->send_message(sqs::send_message_request(url_, std::to_string(number)));
            is_sent = said.has_value();
            if (!is_sent) co_await at(std::chrono::duration_cast<milliseconds>(virtual_time::now()) + 1s);
        }
        ++sent_;
    }

    asio::awaitable<void> change_weather()
    {
        for (auto const& s : day_.spells) {
            co_await at(s.from);
            books_.note("bad weather begins");
            wire_.set(s.faults);
            books_.excuse_for(s.until - s.from + until_known);
            co_await at(s.until);
            books_.note("bad weather ends");
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
            books_.note("process " + std::to_string(processes_[e.process]->id) + " is killed");
            return start(e.process);
        case kind::stop: return drain(*processes_[e.process], e.by);
        case kind::cut:
            books_.note("all connections are cut");
            books_.excuse_for(1s);
            return wire_.break_all(false);
        case kind::silence:
            books_.note("all connections are dead");
            books_.excuse_for(until_known);
            return wire_.break_all(true);
        case kind::skew:
            books_.note("the server's calendar is another");
            books_.excuse_for(until_known);
            ++skews_;
            server_time_.by = std::chrono::duration_cast<wall_time::duration>(e.by);
            return;
        case kind::keys_gone:
            keys_.is_silent = true;
            books_.excuse_for(e.by + until_known);
            books_.keys_may_take(3min);
            return asio::co_spawn(io_, speak_again(e.at + e.by), rethrow);
        }
    }

    /// All that can happen now. Bytes that were sent are there when the kernel has had its turn.
    void settle()
    {
        for (std::size_t idle = 0, done = 0; idle != 3; idle = done == 0 ? idle + 1 : 0) {
            if (idle != 0) ::sched_yield();
            if (++turns_ > most_turns)
                throw std::runtime_error("time stands still: something is done again and again");
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
            turns_ = 0;
            if (books_.is_broken() || !virtual_time::jump(end)) return false;
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
        for (int i = 0; i != day_.messages; ++i)
            if (!handled_.contains(i) && depth() == 0) books_.complain("message " + std::to_string(i) + " is lost");
        for (auto const& p : processes_)
            if (!p->has_ended) books_.complain("process " + std::to_string(p->id) + " does not end");
    }

    stack_day const& day_;
    stack_books books_{day_};
    asio::io_context io_{1}; // the server, the wire, the cabinet and the script
    skewed_clock server_time_;
    broker::server server_;
    hostile_wire wire_;
    key_cabinet keys_;
    sim::dice dice_;
    std::optional<sqs::client> sender_;
    std::string url_;
    std::vector<std::unique_ptr<process>> processes_;
    std::deque<stack_day::event> to_do_;
    std::set<int> handled_;
    int sent_ = 0, next_id_ = 0, turns_ = 0;
    std::size_t skews_ = 0;
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
