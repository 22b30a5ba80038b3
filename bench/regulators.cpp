// What regulators of concurrency are worth, in virtual time:
//     regulators [--seeds N] [--seed FIRST] [--automatic] [--but MODEL] [--trace MODEL'S NUMBER]
//
// A saturated queue, and downstream of the handlers one of five models whose capacity is stepped each minute. For
// each regulator and phase: throughput in per cent of what an oracle gets, and the mean time in the handler, from
// 10 s after the step. The same seeds give the same figures to the digit.
#include <quern/policy/concurrency.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using quern::tick;
using quern::policy::automatic_concurrency;
using quern::policy::call_end;
using quern::policy::concurrency_rule;
using ns = std::chrono::nanoseconds;

constexpr std::size_t most_at_once = 1'000;
constexpr std::array<std::size_t, 5> servers{20, 5, 20, 80, 20};
constexpr double phase = 60, settles = 10;

enum class model { plain, collapse, bimodal, one_cpu, no_limit };
constexpr std::array names{"plain", "collapse", "bimodal", "one CPU", "no limit"};

/// Calls a second at best, with so many servers.
double oracle(model m, std::size_t n)
{
    if (m == model::one_cpu) return 500;
    if (m == model::no_limit) return most_at_once / 0.05;
    return static_cast<double>(n) / 0.05;
}

double shortest(model m)
{
    return m == model::one_cpu ? 0.002 : 0.05;
}

struct phase_figures {
    double share = 0;             // of the oracle
    double mean = 0;              // in the handler, in units of the least
    double back = 0;              // seconds until a second had 90 % of the oracle, after more capacity
    std::array<double, 2> done{}; // by process
};
using day = std::array<phase_figures, servers.size()>;

/// One downstream, the processes in front of it, and the events between them.
class world {
public:
    /// `fixed`: a static limit; 0: each process regulates itself.
    world(model m, std::size_t processes, std::size_t fixed, std::uint64_t seed, bool traced = false)
        : model_(m), fixed_(fixed), traced_(traced), random_(seed)
    {
        for (std::size_t i = 0; i < processes; ++i)
            clients_.push_back({0, concurrency_rule({.min = 1, .max = most_at_once / processes}, tick())});
    }

    day run()
    {
        day out;
        for (std::size_t p = 0; p < servers.size(); ++p)
            out[p] = one_phase(p);
        return out;
    }

private:
    struct client {
        std::size_t in_flight;
        concurrency_rule rule;
    };
    struct call {
        std::size_t who;
        double began;
    };
    struct end {
        double at;
        call what;
        bool operator>(end const& o) const { return at > o.at; }
    };

    std::size_t limit(client const& c) const { return fixed_ == 0 ? c.rule.limit() : fixed_; }
    static tick at(double t) { return tick(ns(static_cast<std::int64_t>(t * 1e9))); }

    std::size_t capacity() const
    {
        if (model_ == model::one_cpu) return 1;
        return model_ == model::no_limit ? 10 * most_at_once : n_;
    }

    double draw() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

    double service()
    {
        if (model_ == model::bimodal) return draw() < 0.9 ? 0.01 : 0.41;
        auto const mean = shortest(model_);
        auto const t = -mean * std::log(1 - draw());
        auto const in_flight = busy_ + waiting_.size();
        auto const over = in_flight > n_ ? static_cast<double>(in_flight - n_) : 0.0;
        return model_ == model::collapse ? t * (1 + 0.03 * over) : t;
    }

    void serve()
    {
        while (busy_ < capacity() && !waiting_.empty()) {
            ++busy_;
            auto const next = waiting_.front();
            waiting_.pop_front();
            ends_.push({now_ + service(), next});
        }
    }

    /// Each client calls as often as its limit lets it, turn by turn.
    void fill()
    {
        for (bool any = true; any;) {
            any = false;
            for (std::size_t i = 0; i < clients_.size(); ++i) {
                auto& c = clients_[i];
                if (c.in_flight >= limit(c)) continue;
                any = true;
                ++c.in_flight;
                if (fixed_ == 0) c.rule.began(c.in_flight, at(now_));
                waiting_.push_back({i, now_});
            }
        }
        serve();
    }

    phase_figures one_phase(std::size_t p)
    {
        n_ = servers[p];
        auto const begin = phase * static_cast<double>(p);
        auto const best = oracle(model_, n_);
        phase_figures out;
        double took = 0, done = 0;
        std::array<std::uint32_t, 600> tenths{};
        fill();
        while (ends_.top().at < begin + phase) {
            auto const e = ends_.top();
            ends_.pop();
            now_ = e.at;
            --busy_;
            auto& c = clients_[e.what.who];
            --c.in_flight;
            auto const lasted = now_ - e.what.began;
            if (fixed_ == 0)
                c.rule.ended(call_end::ok, ns(static_cast<std::int64_t>(lasted * 1e9)), c.in_flight, true, at(now_));
            if (traced_ && limit(c) != last_) std::printf("%.2f %s\n", now_, c.rule.explain().c_str());
            last_ = limit(c);
            ++tenths[std::min<std::size_t>(599, static_cast<std::size_t>((now_ - begin) * 10))];
            if (now_ >= begin + settles) {
                took += lasted;
                ++done;
                ++out.done[e.what.who];
            }
            fill();
        }
        now_ = begin + phase;
        out.share = done / (phase - settles) / best;
        out.mean = done > 0 ? took / done / shortest(model_) : 0;
        out.back = phase;
        double second = 0;
        for (std::size_t i = 0; i < tenths.size(); ++i) {
            second += tenths[i];
            if (i >= 10) second -= tenths[i - 10];
            if (i >= 9 && second >= 0.9 * best) {
                out.back = static_cast<double>(i + 1) / 10;
                break;
            }
        }
        return out;
    }

    model const model_;
    std::size_t const fixed_;
    bool const traced_;
    std::size_t last_ = 0; // limit that the trace has shown
    std::mt19937_64 random_;
    std::vector<client> clients_;
    std::deque<call> waiting_;
    std::priority_queue<end, std::vector<end>, std::greater<>> ends_;
    std::size_t n_ = 0, busy_ = 0;
    double now_ = 0;
};

double median(std::vector<double> v)
{
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
}

double fairness(phase_figures const& f)
{
    auto const sum = f.done[0] + f.done[1];
    return sum * sum / (2 * (f.done[0] * f.done[0] + f.done[1] * f.done[1]));
}

void row(
    char const* label, model m, std::size_t processes, std::size_t fixed, std::uint64_t first, std::uint64_t seeds)
{
    std::vector<day> days;
    for (std::uint64_t s = 0; s < seeds; ++s)
        days.push_back(world(m, processes, fixed, first + s).run());
    auto const of = [&](std::size_t p, auto what) {
        std::vector<double> v;
        for (auto const& d : days)
            v.push_back(what(d[p]));
        return v;
    };
    auto const low = [](std::vector<double> const& v) { return *std::min_element(v.begin(), v.end()); };
    auto const high = [](std::vector<double> const& v) { return *std::max_element(v.begin(), v.end()); };
    std::string share, mean, back, fair;
    std::array<char, 40> text{};
    auto const put = [&](std::string& to, char const* format, auto... values) {
        std::snprintf(text.data(), text.size(), format, values...);
        to += (to.empty() ? "" : " / ") + std::string(text.data());
    };
    for (std::size_t p = 0; p < servers.size(); ++p) {
        auto const shares = of(p, [](auto const& f) { return 100 * f.share; });
        auto const means = of(p, [](auto const& f) { return f.mean; });
        auto const backs = of(p, [](auto const& f) { return f.back; });
        auto const fairs = of(p, [](auto const& f) { return fairness(f); });
        put(share, "%.0f (%.0f)", median(shares), low(shares));
        put(mean, "%.1f (%.1f)", median(means), high(means));
        if (p == 2 || p == 3) put(back, "%.1f (%.1f)", median(backs), high(backs));
        if (processes > 1) put(fair, "%.2f (%.2f)", median(fairs), low(fairs));
    }
    std::printf("| %s | %s%s | %s | %s | %s | %s |\n", names[static_cast<std::size_t>(m)], label,
        processes > 1 ? ", two" : "", share.c_str(), mean.c_str(), back.c_str(), fair.c_str());
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv)
{
    std::uint64_t seeds = 20, first = 1;
    bool statics = true;
    std::string_view but;
    for (int i = 1; i < argc; ++i) {
        std::string_view const word = argv[i];
        if (word == "--seeds" && i + 1 < argc)
            seeds = std::strtoull(argv[++i], nullptr, 10);
        else if (word == "--seed" && i + 1 < argc)
            first = std::strtoull(argv[++i], nullptr, 10);
        else if (word == "--automatic")
            statics = false;
        else if (word == "--but" && i + 1 < argc)
            but = argv[++i];
        else if (word == "--trace" && i + 1 < argc) {
            auto const m = std::clamp(std::atoi(argv[++i]), 0, static_cast<int>(names.size()) - 1);
            world(static_cast<model>(m), 1, 0, first, true).run();
            return 0;
        } else
            return std::fprintf(stderr,
                       "usage: regulators [--seeds N] [--seed FIRST] [--automatic] [--but MODEL] [--trace 0-4]\n"),
                   2;
    }
    if (seeds < 1) seeds = 1;
    std::printf("%llu seeds (static limits 3, no limit downstream 10 at most); median (worst); phases: 20, 5, 20, "
                "80, 20 servers, "
                "from 10 s after the step\n\n"
                "| downstream | at once | throughput, %% of the oracle | time in the handler, of the least | back "
                "after, s (5 to 20, 20 to 80) | Jain |\n"
                "|---|---|---|---|---|---|\n",
        static_cast<unsigned long long>(seeds));
    for (auto const m : {model::plain, model::collapse, model::bimodal, model::one_cpu, model::no_limit}) {
        if (names[static_cast<std::size_t>(m)] == but) continue;
        if (statics)
            for (std::size_t const fixed : {1'000, 20, 40, 80})
                row(std::to_string(fixed).c_str(), m, 1, fixed, first, std::min<std::uint64_t>(seeds, 3));
        auto const some = m == model::no_limit ? std::min<std::uint64_t>(seeds, 10) : seeds;
        row("automatic", m, 1, 0, first, some);
        row("automatic", m, 2, 0, first, some);
    }
}
