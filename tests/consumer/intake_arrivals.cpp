#include <quern/consumer/detail/intake/intake.hpp>

#include "support/t0.hpp"
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <vector>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;
using quern::test::t0;

namespace {

struct tally {
    std::size_t received;             // messages
    double receives_each;             // messages
    double polls;                     // open at once, on average over the answers
    std::chrono::nanoseconds longest; // from arrival to the consumer, of all but those of the first tenth
};

int full_answer(std::mt19937_64&)
{
    return 10;
}

/// A second of messages that arrive at random, or at rate 0 have all arrived before, of long polls that a service
/// answers as soon as it has some, with `size` of them at most.
tally a_second(double rate, std::chrono::nanoseconds there_and_back,
    std::function<int(std::mt19937_64&)> const& size = full_answer)
{
    enum class what { arrival, at_service, answer, wake };
    struct event {
        tick at;
        what it;
        std::size_t poll;
        bool operator<(event const& other) const { return at > other.at; }
    };
    struct poll {
        tick began;
        int asked;
        std::vector<tick> got;
    };
    intake rule(1'000, 16, 1);
    std::mt19937_64 random(1);
    std::exponential_distribution<double> gap(std::max(rate, 1.0));
    std::priority_queue<event> events;
    std::vector<poll> all;
    std::deque<tick> queue;
    std::deque<std::size_t> waiting;
    tally out{};
    std::size_t answers = 0;

    auto now = t0;
    if (rate == 0)
        queue.resize(100'000, t0);
    else
        events.push({t0, what::arrival, 0});
    auto const ask = [&] {
        while (auto const n = rule.next_poll(0, now)) {
            events.push({now + there_and_back / 2, what::at_service, all.size()});
            all.push_back({now, n, {}});
        }
        if (auto const at = rule.wake_at()) events.push({*at, what::wake, 0});
    };
    auto const serve = [&] {
        for (; !waiting.empty() && !queue.empty(); waiting.pop_front()) {
            auto& it = all[waiting.front()];
            auto const most = std::min(it.asked, size(random));
            for (; !queue.empty() && std::ssize(it.got) < most; queue.pop_front())
                it.got.push_back(queue.front());
            events.push({now + there_and_back / 2, what::answer, waiting.front()});
        }
    };
    for (ask(); now < t0 + 1s;) {
        auto const e = events.top();
        events.pop();
        now = e.at;
        if (e.it == what::arrival) {
            queue.push_back(now);
            auto const next = std::chrono::duration<double>(gap(random));
            events.push({now + std::chrono::duration_cast<tick::duration>(next), what::arrival, 0});
        }
        if (e.it == what::at_service) waiting.push_back(e.poll);
        serve();
        if (e.it == what::answer) {
            auto const& it = all[e.poll];
            ++answers;
            out.received += it.got.size();
            out.polls += static_cast<double>(rule.polls());
            for (auto const at : it.got)
                if (now > t0 + 100ms) out.longest = std::max<std::chrono::nanoseconds>(out.longest, now - at);
            rule.answered(it.asked, static_cast<int>(it.got.size()), it.began, now);
        }
        if (e.it == what::answer) events.push({now + 3us, what::wake, 0}); // its turn comes a little later
        if (e.it == what::wake) ask();
    }
    out.receives_each = static_cast<double>(all.size()) / static_cast<double>(out.received);
    out.polls /= static_cast<double>(answers);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(intake_of_what_arrives)

// A queue on which messages arrive by chance, behind a network. The receives bring several at a time, and no more of
// them are open than that takes.
BOOST_AUTO_TEST_CASE(few_receives_bring_what_arrives_at_random_at_any_rate_and_distance)
{
    struct row {
        double rate; // messages a second
        std::chrono::nanoseconds there_and_back;
        double receives_each, most_polls;
    };
    for (auto const& r : std::vector<row>{{1'000, 100us, 0.25, 1.1}, {1'000, 10ms, 0.25, 5}, {5'000, 100us, 0.2, 1.1},
             {5'000, 10ms, 0.2, 10}, {20'000, 100us, 0.2, 1.1}, {20'000, 1ms, 0.22, 8}, {100'000, 1ms, 0.15, 14}}) {
        auto const got = a_second(r.rate, r.there_and_back);
        BOOST_TEST_CONTEXT(r.rate << " a second, " << r.there_and_back.count() << " ns there and back")
        {
            BOOST_TEST(got.receives_each < r.receives_each);
            BOOST_TEST(got.polls < r.most_polls);
            BOOST_TEST(got.longest < 3 * r.there_and_back + 10ms);
        }
    }
}

// Taken for all that arrives, they were received one in 5 ms: a twentieth of what the service would have given.
BOOST_AUTO_TEST_CASE(a_backlog_is_worked_off_at_full_speed_although_answers_are_not_full)
{
    struct row {
        char const* about;
        std::function<int(std::mt19937_64&)> size;
        double on_average;
    };
    auto const always = [](int n) { return [n](std::mt19937_64&) { return n; }; };
    auto const any = [](std::mt19937_64& random) { return std::uniform_int_distribution<>(1, 10)(random); };
    auto const half_full = [any](std::mt19937_64& random) { return random() % 2 == 0 ? 10 : any(random); };
    for (auto const& r : std::vector<row>{{"9", always(9), 9}, {"5", always(5), 5}, {"4", always(4), 4},
             {"1", always(1), 1}, {"any", any, 5.5}, {"half of them full", half_full, 7.75}}) {
        BOOST_TEST_CONTEXT(r.about)
        {
            auto const most = 16 * 50 * r.on_average; // receives at once, and of each in a second
            BOOST_TEST(static_cast<double>(a_second(0, 20ms, r.size).received) > 0.7 * most);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_arrives_is_no_backlog_though_it_comes_in_small_answers)
{
    auto const five = [](std::mt19937_64&) { return 5; };
    auto const got = a_second(1'000, 1ms, five);
    BOOST_TEST(got.received > 900u);
    BOOST_TEST(got.receives_each < 0.3);
}

BOOST_AUTO_TEST_SUITE_END()
