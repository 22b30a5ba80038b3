// A handler through sixty bad days: answers get lost, processes stand still, are stopped and killed. Is every order
// charged, and none twice?
#include <quern/quern.hpp>
#include <quern/sim/world.hpp>

#include <boost/asio/this_coro.hpp>

#include <iostream>
#include <map>
#include <set>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// The database that all processes share.
struct books {
    std::set<std::string> charged; // a table with a unique key
    std::map<std::string, int> charges;
    int tries = 0;

    asio::awaitable<quern::outcome> charge(quern::delivery& order, quern::clock& time)
    {
        ++tries;
        auto const timer = time.make_timer(co_await asio::this_coro::executor);
        bool const answered = co_await timer->wait_until(time.now() + 300ms); // the bank thinks
        if (!answered) co_return quern::release();                            // cancelled: the lease is lost
        std::string const id(order.body());
        if (charged.insert(id).second) ++charges[id]; // take this condition away, and see
        co_return quern::ack();
    }
};

} // namespace

int main()
{
    int orders = 0, tries = 0, missed = 0, doubled = 0, broken = 0;
    for (char const* name : {"everything", "kills", "duplicates"}) {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            auto day = quern::sim::draw(name, seed); // its weather, its incidents, and
            quern::consumer_options mine;            // the settings that go into production
            mine.visibility_timeout = 20s;
            mine.limits.max_in_flight = 50;
            mine.seed = seed;
            day.consumer = mine;
            day.max_receives = 0;

            books till;
            quern::sim::run_options options;
            options.body = [](int number) { return "order " + std::to_string(number); };
            options.handle = [&till](quern::delivery& d, quern::clock& time) { return till.charge(d, time); };
            auto const result = quern::sim::run(day, options);

            orders += day.messages;
            tries += till.tries;
            missed += day.messages - static_cast<int>(till.charges.size());
            for (auto const& [id, count] : till.charges)
                doubled += count > 1 ? 1 : 0;
            for (auto const& violation : result.violations)
                std::cout << name << ' ' << seed << ": " << violation << '\n';
            broken += result.passed() ? 0 : 1;
        }
    }
    std::cout << orders << " orders in " << tries << " tries: " << missed << " not charged, " << doubled
              << " charged twice; " << broken << " days with a broken promise\n";
    return missed + doubled + broken == 0 && tries > orders ? 0 : 1;
}
