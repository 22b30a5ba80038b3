#include <quern/fleet/detail/slice_rule.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <map>
#include <random>

using namespace quern;
using namespace quern::fleet;
using namespace quern::fleet::detail;
using namespace std::chrono_literals;

namespace {

constexpr amounts whole_budget{100'000, 20};

/// Processes over one item: requests take their time, lose answers and arrive late, and each process has a clock of
/// its own, up to five seconds and a thousandth wrong.
class model {
public:
    explicit model(std::uint64_t seed) : random_(seed) {}

    struct process {
        slice_rule rule;
        std::chrono::nanoseconds offset;
        double drift;
        bool alive = true;
        tick last_write = tick::min();
        std::int64_t running = 0; // handlers, which end one by one
    };

    void start()
    {
        auto const name = "p" + std::to_string(processes_.size());
        auto const offset = std::chrono::milliseconds(static_cast<int>(random_() % 10'000) - 5'000);
        auto const drift = 1 + (static_cast<double>(random_() % 2'001) - 1'000) / 1e6;
        auto const [at, fresh] = processes_.emplace(name, process{slice_rule(name, whole_budget), offset, drift});
        later(some(1s), [this, name = at->first] { look(name); });
    }

    void kill(std::size_t count)
    {
        for (auto& [name, p] : processes_) {
            if (!p.alive || count == 0) continue;
            p.alive = false;
            --count;
        }
    }

    void run(std::chrono::nanoseconds length)
    {
        auto const until = now_ + length;
        while (!events_.empty() && events_.begin()->first <= until) {
            auto const first = events_.extract(events_.begin());
            now_ = first.key();
            first.mapped()();
            check();
        }
        now_ = until;
    }

    amounts in_use() const
    {
        amounts out;
        for (auto const& [name, p] : processes_) {
            if (!p.alive) continue;
            out.rate += p.rule.slice().rate;
            out.concurrency += p.rule.slice().concurrency;
        }
        return out;
    }

    tick now() const { return now_; }
    bool table_gone = false;
    double loses = 0.02; // of the answers
    std::size_t beyond = 0, too_fast = 0;
    std::int64_t least_rate = whole_budget.rate; // in use; set it back at will

private:
    void later(std::chrono::nanoseconds in, std::function<void()> what)
    {
        events_.emplace(now_ + in, std::move(what));
    }
    std::chrono::nanoseconds some(std::chrono::nanoseconds most)
    {
        return std::chrono::nanoseconds(random_() % static_cast<std::uint64_t>(most.count()));
    }
    std::chrono::nanoseconds network() { return 2ms + some(random_() % 50 == 0 ? 400ms : 20ms); }
    bool chance(double of) { return static_cast<double>(random_() % 10'000) < of * 10'000; }

    tick clock_of(process const& p) const
    {
        auto const since = std::chrono::duration<double, std::nano>(now_.time_since_epoch()) * p.drift;
        return tick(std::chrono::duration_cast<tick::duration>(since)) + p.offset;
    }

    void check()
    {
        auto const all = in_use();
        if (all.rate > whole_budget.rate || all.concurrency > whole_budget.concurrency) ++beyond;
        least_rate = std::min(least_rate, all.rate);
    }

    void look(std::string const& name)
    {
        auto& p = processes_.at(name);
        if (!p.alive) return;
        p.rule.wake(clock_of(p));
        p.running = std::max(p.rule.slice().concurrency, p.running - static_cast<std::int64_t>(random_() % 3));
        later(network(), [this, name] {
            auto const gone = table_gone || chance(loses);
            later(network(), [this, name, gone, item = item_] { answered(name, gone, item); });
        });
    }

    void answered(std::string const& name, bool gone, item_state const& item)
    {
        auto& p = processes_.at(name);
        if (!p.alive) return;
        later(1s + some(100ms), [this, name] { look(name); });
        if (gone) return p.rule.failed();
        auto const wanted = p.rule.read(item, {{}, p.running}, clock_of(p));
        if (!wanted) return;
        if (p.last_write != tick::min() && now_ - p.last_write < 1s) ++too_fast;
        p.last_write = now_;
        later(network(), [this, name, w = *wanted] { arrived(name, w); });
    }

    void arrived(std::string const& name, item_write const& w)
    {
        bool const applied = !table_gone && carry_out(name, w);
        auto const lost = table_gone || chance(loses);
        later(network(), [this, name, applied, lost, found = item_] {
            auto& p = processes_.at(name);
            if (!p.alive) return;
            if (lost)
                p.rule.failed();
            else if (applied)
                p.rule.written(clock_of(p));
            else
                p.rule.refused(found);
        });
    }

    bool carry_out(std::string const& name, item_write const& w)
    {
        auto const text = [this](std::string const& of) {
            auto const at = item_.members.find(of);
            return at == item_.members.end() ? std::string() : at->second;
        };
        if (text(name) != w.was || (w.version && *w.version != item_.version)) return false;
        for (auto const& [buried, was] : w.buried)
            if (text(buried) != was) return false;
        item_.members[name] = w.becomes;
        for (auto const& [buried, was] : w.buried)
            item_.members.erase(buried);
        if (w.version) ++item_.version;
        return true;
    }

    std::mt19937_64 random_;
    tick now_ = tick() + 1h;
    std::multimap<tick, std::function<void()>> events_;
    std::map<std::string, process> processes_;
    item_state item_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(eight_processes_and_one_budget)

BOOST_AUTO_TEST_CASE(all_of_it_is_used_and_never_more_and_that_of_the_dead_comes_back_within_ten_seconds)
{
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            model fleet(seed);
            for (int i = 0; i < 8; ++i)
                fleet.start();
            fleet.run(10s);
            fleet.least_rate = whole_budget.rate;
            fleet.run(30s);
            BOOST_TEST(fleet.least_rate >= whole_budget.rate * 95 / 100);
            fleet.kill(3);
            BOOST_TEST(fleet.in_use().rate <= whole_budget.rate * 5 / 8 + 8);
            fleet.run(10s);
            BOOST_TEST(fleet.in_use().rate >= whole_budget.rate * 95 / 100);
            BOOST_TEST(fleet.in_use().concurrency >= 19);
            fleet.least_rate = whole_budget.rate;
            fleet.run(30s);
            BOOST_TEST(fleet.least_rate >= whole_budget.rate * 95 / 100);

            fleet.table_gone = true; // each keeps its slice
            fleet.run(60s);
            BOOST_TEST(fleet.least_rate >= whole_budget.rate * 95 / 100);
            fleet.table_gone = false;
            fleet.run(10s);
            for (int i = 0; i < 3; ++i)
                fleet.start();
            fleet.run(10s);
            BOOST_TEST(fleet.in_use().rate >= whole_budget.rate * 95 / 100);
            BOOST_TEST(fleet.beyond == 0u);
            BOOST_TEST(fleet.too_fast == 0u);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
