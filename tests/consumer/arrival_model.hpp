#pragma once

#include <quern/consumer/detail/intake/intake.hpp>

#include "support/t0.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <vector>

namespace quern::test {

using detail::intake;

struct tally {
    std::size_t received;                           // messages
    double receives_each;                           // messages
    double polls;                                   // open at once, on average over the answers
    double met;                                     // of the messages, those that a receive waited for
    std::chrono::duration<double, std::milli> mean; // from arrival to the consumer
    std::chrono::nanoseconds longest; // from arrival to the consumer, of all but those of the first tenth
};

inline int full_answer(std::mt19937_64&)
{
    return 10;
}

/// Messages arrive at random, or at rate 0 have all arrived before. A service answers long polls as soon as it has
/// some, with `size` of them at most.
inline tally receive_what_arrives(double rate, std::chrono::nanoseconds there_and_back,
    std::function<int(std::mt19937_64&)> const& size = full_answer,
    std::chrono::milliseconds latency = std::chrono::milliseconds(5),
    std::chrono::seconds length = std::chrono::seconds(1))
{
    using namespace std::chrono_literals;
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
    intake rule(1'000, 16, 1, true, latency);
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
    for (ask(); now < t0 + length;) {
        auto const e = events.top();
        events.pop();
        now = e.at;
        if (e.it == what::arrival) {
            out.met += waiting.empty() ? 0 : 1;
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
                out.mean += now - at;
            for (auto const at : it.got)
                if (now > t0 + 100ms) out.longest = std::max<std::chrono::nanoseconds>(out.longest, now - at);
            rule.answered(it.asked, static_cast<int>(it.got.size()), it.began, now);
        }
        if (e.it == what::answer) events.push({now + 3us, what::wake, 0}); // its turn comes a little later
        if (e.it == what::wake) ask();
    }
    out.receives_each = static_cast<double>(all.size()) / static_cast<double>(out.received);
    out.polls /= static_cast<double>(answers);
    out.met /= static_cast<double>(out.received);
    out.mean /= static_cast<double>(out.received);
    return out;
}

} // namespace quern::test
