#pragma once

#include <quern/consumer/detail/gate/breaker_gate.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace quern::test {

using namespace quern::detail;
using namespace std::chrono_literals;

/// The order in which the messages of ten tenants arrive.
enum class arrival { mixed, in_turn, fifty_in_a_row, five_hundred_in_a_row, thirty_seven_at_random };

struct model_day {
    int ill = 0; ///< of ten tenants
    int rate = 20;
    arrival order = arrival::mixed;
    int max_receives = 0; ///< 0: no dead-letter queue
    bool keyed = false;
    std::chrono::seconds down_from{120}, down_until{1'320}, sent_until{1'440};
    std::chrono::seconds flaps{0}; ///< down for so long, up for so long, in turn
    int backlog = 0;               ///< sent at once, at the beginning
    int max_in_flight = 1'000;
    unsigned seed = 1;
};

struct model_result {
    long healthy_arrived = 0, healthy_handled = 0; ///< while others are down, from three minutes on
    long runs_of_ill = 0;                          ///< while they are down
    long dead = 0, most_waiting = 0;
    std::chrono::seconds done_after{}; ///< the end of the outage
    bool all_done = false;
};

/// The gate before a queue that gives its oldest message first, and handlers that take no time: what a consumer does
/// with it, without all that a consumer has to do else. Two hours of a day take a second.
class outage_model {
public:
    explicit outage_model(model_day day)
        : day_(day), random_(day.seed), gate_(policy::breaker_options(), 1'000, day.seed, now_)
    {
        gate_.set_places(static_cast<std::size_t>(day.max_in_flight / 4));
    }

    model_result run()
    {
        auto const give_up = begin_ + day_.sent_until + 12h;
        while (now_ < give_up && step())
            ;
        out_.all_done = sent_ == settled_;
        return out_;
    }

private:
    struct message {
        int tenant;
        int receives = 0;
        tick sent;
        bool counts = false;
    };

    bool step()
    {
        send();
        show();
        auto const may_begin = now_ >= next_start_;
        auto const may_receive = may_begin && !visible_.empty() && gate_.room(now_) != 0;
        auto const fresh_first = may_receive && gate_.prefers_fresh();
        if (auto const gone = gate_.due(may_begin && !fresh_first, now_)) {
            auto const number = static_cast<long>(gone->number);
            if (gone->what.to == gate::answer::way::on)
                handle(number);
            else
                back(number, gone->what.delay);
            return true;
        }
        if (!may_receive) return advance();
        auto const number = *visible_.begin();
        visible_.erase(visible_.begin());
        ++all_.at(number).receives;
        auto const where = gate_.ask(subject(number), now_);
        if (where.to == gate::answer::way::on)
            handle(number);
        else
            place(number, where);
        return true;
    }

    gate::subject subject(long number)
    {
        auto const& m = all_.at(number);
        gate::subject s;
        s.number = s.id = static_cast<std::uint64_t>(number);
        if (day_.keyed) s.key = names_.at(static_cast<std::size_t>(m.tenant));
        if (day_.max_receives != 0) s.receives_left = std::max(day_.max_receives - m.receives, 0);
        s.began_at = now_;
        return s;
    }

    void handle(long number)
    {
        auto const limit = gate_.rate(now_);
        auto const each = 1 / std::min(limit.value_or(fastest), fastest);
        next_start_ = std::max(next_start_, now_ - 50ms) + ticks(each);
        gate_.started(subject(number), now_);
        auto const s = subject(number);
        auto const ill = is_ill(all_.at(number).tenant);
        auto const where = gate_.ended(s, {ill ? gate::news::sign::down : gate::news::sign::good, {}}, now_);
        if (ill) {
            ++out_.runs_of_ill;
            place(number, where);
            return;
        }
        if (all_.at(number).counts && now_ < begin_ + day_.down_until) ++out_.healthy_handled;
        settle(number);
        out_.done_after = std::chrono::floor<std::chrono::seconds>(now_ - begin_) - day_.down_until;
    }

    void place(long number, gate::answer const& where)
    {
        using way = gate::answer::way;
        if (where.to == way::wait_here) {
            ++waiting_;
            out_.most_waiting = std::max(out_.most_waiting, waiting_);
            return;
        }
        auto const receives = all_.at(number).receives;
        auto const usual =
            std::min(900.0, std::exp2(receives - 1)) * std::uniform_real_distribution(0.5, 1.0)(random_);
        hide(number, where.to == way::go_back ? tick::duration(where.delay) : ticks(std::max(1.0, std::ceil(usual))));
    }

    void back(long number, std::chrono::milliseconds delay) { hide(number, delay); }

    void hide(long number, tick::duration delay)
    {
        auto const& m = all_.at(number);
        if (day_.max_receives != 0 && m.receives >= day_.max_receives) {
            ++out_.dead;
            return settle(number);
        }
        hidden_.emplace(now_ + delay, number);
    }

    void settle(long number)
    {
        all_.erase(number);
        ++settled_;
    }

    void send()
    {
        for (; sending() && next_send() <= now_; ++sent_) {
            message m{tenant(sent_), 0, next_send()};
            m.counts = m.tenant >= day_.ill && m.sent >= begin_ + 300s && m.sent < begin_ + day_.down_until - 5s;
            out_.healthy_arrived += m.counts;
            all_.emplace(sent_, m);
            visible_.insert(sent_);
        }
    }

    void show()
    {
        for (; !hidden_.empty() && hidden_.begin()->first <= now_; hidden_.erase(hidden_.begin()))
            visible_.insert(hidden_.begin()->second);
    }

    bool advance()
    {
        auto next = tick::max();
        if (sending()) next = std::min(next, next_send());
        if (!hidden_.empty()) next = std::min(next, hidden_.begin()->first);
        if (!visible_.empty()) next = std::min(next, std::max(next_start_, gate_.room(now_) == 0 ? now_ + 1s : now_));
        if (auto const at = gate_.wake_at(now_)) next = std::min(next, std::max(*at, next_start_));
        if (next == tick::max()) return false;
        now_ = std::max(next, now_ + 1ms);
        waiting_ = 0; // counted anew by those that come
        return true;
    }

    bool sending() const { return sent_ < day_.backlog || next_send() < begin_ + day_.sent_until; }
    tick next_send() const
    {
        auto const later = std::max(sent_ - day_.backlog, 0L);
        return begin_ + ticks(static_cast<double>(later) / day_.rate);
    }

    bool is_ill(int tenant) const
    {
        auto const at = now_ - begin_;
        if (tenant >= day_.ill || at < day_.down_from || at >= day_.down_until) return false;
        return day_.flaps.count() == 0 || (at / day_.flaps) % 2 == 0;
    }

    int tenant(long n)
    {
        switch (day_.order) {
        case arrival::mixed: return std::uniform_int_distribution(0, 9)(random_);
        case arrival::in_turn: return static_cast<int>(n % 10);
        case arrival::fifty_in_a_row: return static_cast<int>(n / 50 % 10);
        case arrival::five_hundred_in_a_row: return static_cast<int>(n / 500 % 10);
        case arrival::thirty_seven_at_random: break;
        }
        std::mt19937_64 run(day_.seed * 7'919 + static_cast<unsigned>(n / 37));
        return static_cast<int>(run() % 10);
    }

    static tick::duration ticks(double s)
    {
        return std::chrono::duration_cast<tick::duration>(std::chrono::duration<double>(s));
    }

    static constexpr double fastest = 1'000; // a second

    model_day const day_;
    std::vector<std::string> const names_{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    std::mt19937_64 random_;
    tick const begin_ = tick() + 24h;
    tick now_ = begin_;
    breaker_gate gate_;
    tick next_start_ = begin_;
    std::map<long, message> all_;
    std::set<long> visible_; // the oldest first
    std::multimap<tick, long> hidden_;
    long sent_ = 0, settled_ = 0, waiting_ = 0;
    model_result out_;
};

} // namespace quern::test
