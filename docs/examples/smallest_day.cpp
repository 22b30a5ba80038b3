// A handler with a bug, and the smallest day that shows it: what was charged is looked up before the bank is asked,
// and written down afterwards.
#include <quern/quern.hpp>
#include <quern/sim/shrink.hpp>
#include <quern/sim/world.hpp>

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// The database that all processes share.
struct books {
    std::set<std::string> charged;
    std::map<std::string, int> charges;

    asio::awaitable<quern::outcome> charge(quern::delivery& order, quern::clock& time)
    {
        std::string const id(order.body());
        if (charged.contains(id)) co_return quern::ack();
        ++charges[id]; // the bank begins, and does not hear of what becomes of us
        auto const timer = time.make_timer(co_await asio::this_coro::executor);
        bool const answered = co_await timer->wait_until(time.now() + 300ms);
        if (!answered) co_return quern::release(); // cancelled: the lease is lost
        charged.insert(id);
        co_return quern::ack();
    }
};

bool charges_twice(quern::sim::scenario const& day)
{
    books till;
    quern::sim::run_options options;
    options.handle = [&till](quern::delivery& d, quern::clock& time) { return till.charge(d, time); };
    quern::sim::run(day, options);
    return std::ranges::any_of(till.charges, [](auto const& one) { return one.second > 1; });
}

} // namespace

int main()
{
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        auto const day = quern::sim::draw("kills", seed);
        if (!charges_twice(day)) continue;
        auto const least = quern::sim::shrink(day, charges_twice);
        std::cout << "seed " << seed << ": " << day.messages << " messages and " << day.incidents.size()
                  << " incidents, of which " << least.day.messages << " and " << least.day.incidents.size()
                  << " are enough\n"
                  << quern::sim::to_code(least.day, day);
        return 0;
    }
    return 1;
}
