#pragma once

#include <quern/policy/rate_limit.hpp>
#include <quern/relay/detail/refusal_rule.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <vector>

namespace quern::test {

using namespace std::chrono_literals;

/// A message on its way to a web service.
struct tried {
    std::size_t number = 0;
    int tries = 0;
    tick first{};
};

inline tick const dawn(1'000'000s); // every model begins then
inline double seconds_after_dawn(tick now)
{
    return std::chrono::duration<double>(now - dawn).count();
}

/// A web service: whether it admits a message, which it answers with 429 otherwise.
using service_model = std::function<bool(tried const&, tick now)>;

/// Admits so many a second; 0: all.
using cap = std::function<double(tick now)>;

inline service_model by_bucket(cap of, double burst)
{
    return [of = std::move(of), burst, have = burst, at = dawn](tried const&, tick now) mutable {
        auto const rate = of(now);
        if (rate == 0) return true;
        have = std::min(burst, have + rate * std::chrono::duration<double>(now - at).count());
        at = now;
        if (have < 1) return false;
        have -= 1;
        return true;
    };
}

/// Counts by the second of a clock that is not ours.
inline service_model by_second(cap of)
{
    return [of = std::move(of), second = std::int64_t(-1), count = 0.0](tried const&, tick now) mutable {
        auto const it = std::chrono::floor<std::chrono::seconds>(now + 370ms).time_since_epoch().count();
        if (it != second) count = 0;
        second = it;
        auto const most = of(now);
        return most == 0 || count++ < most;
    };
}

/// Refuses a part of the messages for their own sake, in rows of `burst`, for so long after their first try.
inline service_model one_by_one(double part, std::size_t burst, tick::duration lasts)
{
    return [=](tried const& m, tick now) {
        std::minstd_rand dice(static_cast<unsigned>(m.number / burst) * 7919 + 1);
        dice.discard(3); // neighbours look alike at first
        bool const is_ill = static_cast<double>(dice() % 1'000) < 1'000 * part;
        return !is_ill || now - m.first >= lasts;
    };
}

/// Relays of one queue, each with the rule, on one service.
struct relay_model {
    std::size_t messages = std::numeric_limits<std::size_t>::max(); // all there from the beginning
    std::size_t relays = 1;
    std::size_t at_once = 10; // in each
    std::chrono::milliseconds takes = 50ms;
    std::optional<std::chrono::milliseconds> retry_after = 2s; // absent: by the backoff
    bool heeds = true;

    std::vector<std::size_t> admitted, refused; // by the second
    double limit = 0;                           // of the first relay, at the end

    double admitted_since(std::size_t second) const { return sum(admitted, second); }
    double refused_part_since(std::size_t second) const
    {
        return sum(refused, second) / (sum(refused, second) + sum(admitted, second));
    }

    relay_model& run(service_model admits, std::chrono::seconds lasts)
    {
        admitted.assign(static_cast<std::size_t>(lasts.count()) + 1, 0);
        refused = admitted;
        std::vector<one> all(relays);
        std::priority_queue<event, std::vector<event>, std::greater<>> answers, put_off;
        std::size_t fresh = 0;
        for (auto now = dawn; now < dawn + lasts; now += 1ms) {
            for (std::size_t turn = 0; turn != relays; ++turn) {
                auto const i = (turn + fresh) % relays; // none is always the first
                while (all[i].may_begin(at_once, now)) {
                    event e{now, {fresh, 0, now}, i, false};
                    auto const comes_again = !put_off.empty() && put_off.top().at <= now;
                    if (!comes_again && fresh == messages) break;
                    if (comes_again) {
                        e.what = put_off.top().what;
                        put_off.pop();
                    } else {
                        ++fresh;
                    }
                    ++e.what.tries;
                    all[i].begin(now);
                    e.admitted = admits(e.what, now);
                    e.of = i;
                    e.at = now + takes + std::chrono::microseconds(dice_() % 10'000);
                    answers.push(e);
                }
            }
            for (; !answers.empty() && answers.top().at <= now; answers.pop()) {
                auto e = answers.top();
                all[e.of].end(e.admitted, heeds, now);
                auto const second = static_cast<std::size_t>(seconds_after_dawn(now));
                ++(e.admitted ? admitted : refused)[second];
                if (e.admitted) continue;
                e.at = now + delay(e.what.tries);
                put_off.push(e);
            }
        }
        limit = all.front().rule.limit().value_or(0);
        return *this;
    }

private:
    struct event {
        tick at;
        tried what;
        std::size_t of;
        bool admitted;
        bool operator>(event const& other) const { return at > other.at; }
    };

    struct one {
        relay::detail::refusal_rule rule;
        std::optional<policy::rate_limit> limit;
        std::size_t under_way = 0;

        bool may_begin(std::size_t most, tick now)
        {
            return under_way < most && (!limit || limit->available(now) != 0);
        }
        void begin(tick now)
        {
            ++under_way;
            if (limit) limit->take(1, now);
            rule.began(now);
        }
        void end(bool admitted, bool heeds, tick now)
        {
            --under_way;
            rule.ended(now);
            auto const wall = wall_time(now.time_since_epoch());
            auto const change = rule.answered({std::size_t(admitted), std::size_t(!admitted)}, now, wall);
            if (!change || !heeds) return;
            if (!change->limit) return limit.reset();
            policy::rate const to{.count = std::lround(10 * *change->limit), .per = 10s};
            if (limit)
                limit->change(to, now);
            else
                limit.emplace(to, now);
        }
    };

    static double sum(std::vector<std::size_t> const& of, std::size_t since)
    {
        double out = 0;
        for (auto i = since; i < of.size(); ++i)
            out += static_cast<double>(of[i]);
        return out;
    }

    std::chrono::milliseconds delay(int tries)
    {
        if (retry_after) return *retry_after;
        auto const most = static_cast<std::uint64_t>(1000 * std::min(900.0, std::pow(2.0, tries - 1)));
        return std::chrono::milliseconds(most / 2 + dice_() % (most / 2));
    }

    std::mt19937_64 dice_{7};
};

} // namespace quern::test
