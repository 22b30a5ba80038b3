// What fair turns are worth, in virtual time:
//     tenants [--seeds N] [--seed FIRST]
//
// A tenant sends 30,000 messages at once, each of which takes its handler 2 s; two quiet ones send one a second each,
// for ten minutes, and SQS notices nothing of it. One consumer with 20 handlers at once works on until the queue is
// empty. The same seeds give the same figures to the digit.
#include <quern/broker/engine.hpp>
#include <quern/consumer/consumer.hpp>
#include <quern/sim/local_api.hpp>
#include <quern/sim/virtual_clock.hpp>
#include <quern/sqs/forwarding_api.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace quern;

constexpr int burst = 30'000, each_quiet = 600;
constexpr std::size_t at_once = 20;
constexpr auto takes = 2s, quiet_for = 600s, settled = 30s;

/// SQS at a distance: answers after 10 ms.
class distant_api : public sqs::forwarding_api<distant_api> {
public:
    distant_api(sqs::api& real, quern::clock& time, asio::any_io_executor ex)
        : real_(real), time_(time), executor_(std::move(ex))
    {}

    template <class Request>
    sqs::answer<typename Request::response> carry(Request r)
    {
        auto const timer = time_.make_timer(executor_);
        co_await timer->wait_until(time_.now() + 5ms);
        auto said = co_await sqs::perform(real_, std::move(r));
        co_await timer->wait_until(time_.now() + 5ms);
        co_return said;
    }

private:
    sqs::api& real_;
    quern::clock& time_;
    asio::any_io_executor const executor_;
};

struct figures {
    int quiet_done = 0;        // of the quiet tenants' messages, within the ten minutes
    std::vector<double> dwell; // of those of them that were sent 30 s after the burst or later: seconds to their end
    double all_done = 0;       // seconds until the queue was empty
    double requests = 0;       // a message
    int again = 0;             // messages that began twice
};

struct tenancy {
    bool fair;
    std::size_t look_ahead;
};

consumer_options options_for(tenancy const& how, quern::clock& time, std::uint64_t seed)
{
    consumer_options out;
    out.limits.max_in_flight = 50'000;
    out.limits.handler_concurrency = at_once;
    if (how.fair) {
        out.tenant = by_attribute("tenant");
        out.fairness.look_ahead = how.look_ahead;
    }
    out.settle.linger = 2s; // ten handlers end in a second: acknowledgements share requests
    out.stall_after.reset();
    out.time = &time;
    out.seed = seed;
    return out;
}

/// One day, from the burst until the queue is empty.
class day {
public:
    day(tenancy const& how, std::uint64_t seed)
        : random_(seed), engine_({.seed = seed}), api_(engine_, time_, io_.get_executor()),
          far_(api_, time_, io_.get_executor()), began_(time_.now())
    {
        sqs::create_queue_request request("shop");
        url_ = engine_.create_queue(request, time_.wall()).value().queue_url;
        consumer_.emplace(
            io_.get_executor(), far_, url_, [this](delivery& d) { return handle(d); }, options_for(how, time_, seed));
    }

    figures run()
    {
        auto const sent = [](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
        };
        asio::co_spawn(io_, send_burst(), sent);
        asio::co_spawn(io_, send_quiet("b"), sent);
        asio::co_spawn(io_, send_quiet("c"), sent);
        consumer_->start();
        time_.run_for(io_, quiet_for);
        out_.quiet_done = static_cast<int>(done_["b"] + done_["c"]);
        time_.run_until_done(
            io_, 4h, [this] { return done_["a"] + done_["b"] + done_["c"] == burst + 2 * each_quiet; });
        out_.all_done = std::chrono::duration<double>(time_.now() - began_).count();
        auto const counted = consumer_->counters();
        out_.requests =
            static_cast<double>(counted.polls + counted.settle_calls) / static_cast<double>(burst + 2 * each_quiet);
        bool over = false;
        asio::co_spawn(io_, consumer_->drain(10s), [&](std::exception_ptr, drain_report const&) { over = true; });
        time_.run_until_done(io_, 60s, [&] { return over; });
        return out_;
    }

private:
    asio::awaitable<void> send(std::string tenant)
    {
        sqs::send_message_request message(url_, std::to_string(++sent_));
        message.attributes["tenant"] = sqs::attribute_value{"String", tenant};
        sent_at_[sent_] = time_.now();
        auto const said = co_await api_.send_message(std::move(message));
        said.value();
    }

    asio::awaitable<void> send_burst()
    {
        for (int i = 0; i < burst; ++i)
            co_await send("a");
    }

    asio::awaitable<void> send_quiet(std::string tenant)
    {
        auto const timer = time_.make_timer(io_.get_executor());
        auto const first = time_.now() + std::chrono::milliseconds(random_() % 1'000);
        for (int i = 0; i < each_quiet; ++i) {
            co_await timer->wait_until(first + i * 1s);
            co_await send(tenant);
        }
    }

    asio::awaitable<outcome> handle(delivery& d)
    {
        auto const number = std::stoi(std::string(d.body()));
        auto const tenant = std::string(d.message().attribute("tenant")->value);
        if (!begun_.insert(number).second) ++out_.again;
        auto const timer = time_.make_timer(io_.get_executor());
        auto length = takes + std::chrono::milliseconds(random_() % 200) - 100ms;
        if (begun_.size() <= at_once)
            length = std::chrono::milliseconds(random_() % 2'000); // or all would end together
        co_await timer->wait_until(time_.now() + length);
        ++done_[tenant];
        auto const sent = sent_at_[number];
        if (tenant != "a" && sent >= began_ + settled)
            out_.dwell.push_back(std::chrono::duration<double>(time_.now() - sent).count());
        co_return ack();
    }

    std::mt19937_64 random_;
    sim::virtual_clock time_;
    asio::io_context io_;
    broker::engine engine_;
    sim::local_api api_;
    distant_api far_;
    tick const began_;
    std::string url_;
    std::optional<consumer> consumer_;
    int sent_ = 0;
    std::map<int, tick> sent_at_;
    std::set<int> begun_;
    std::map<std::string, int> done_;
    figures out_;
};

double part_of(std::vector<double>& sorted, double part)
{
    if (sorted.empty()) return 0;
    std::ranges::sort(sorted);
    return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

} // namespace

int main(int argc, char* argv[])
{
    int seeds = 3;
    std::uint64_t first = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::string_view(argv[i]) == "--seeds") seeds = std::atoi(argv[i + 1]);
        if (std::string_view(argv[i]) == "--seed") first = std::strtoull(argv[i + 1], nullptr, 10);
    }
    std::printf("| turns | quiet messages done in ten minutes, of 1,200 | their seconds from send to end: p50, p95 | "
                "all done after | "
                "requests a message | begun twice |\n|---|---|---|---|---|---|\n");
    for (auto const& [name, how] :
        {std::pair("the oldest first", tenancy{false, 0}), {"fair, `look_ahead` 40,000", tenancy{true, 40'000}},
            {"fair, `look_ahead` 5,000", tenancy{true, 5'000}}}) {
        int least_done = 2 * each_quiet, again = 0;
        double p50 = 0, p95 = 0, all_done = 0, requests = 0;
        for (int s = 0; s < seeds; ++s) {
            auto one = day(how, first + static_cast<std::uint64_t>(s)).run();
            least_done = std::min(least_done, one.quiet_done);
            again += one.again;
            p50 = std::max(p50, part_of(one.dwell, 0.5));
            p95 = std::max(p95, part_of(one.dwell, 0.95));
            all_done = std::max(all_done, one.all_done);
            requests = std::max(requests, one.requests);
        }
        std::printf(
            "| %s | %d | %.2f, %.2f | %.0f s | %.3f | %d |\n", name, least_done, p50, p95, all_done, requests, again);
    }
    std::printf("The worst of %d days, seeds from %llu.\n", seeds, static_cast<unsigned long long>(first));
}
