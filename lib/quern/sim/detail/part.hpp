#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/consumer/outcome.hpp>
#include <quern/core/clock.hpp>
#include <quern/sim/scenario.hpp>
#include <quern/sim/verdict.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace quern::sim::detail {

class downstream;

/// The conduct of one try of a message, whoever runs it: drawn from the day's seed, the message and its receive
/// count.
struct part {
    enum class kind {
        succeeds,
        fails,
        backs_off,
        releases,
        hangs,
        deaf,
        rejects,
        misreads,
        condemns,
        unavailable,
        blocks,
        acks,
        extends,
        guards,
        insists
    };
    kind what = kind::succeeds;
    std::chrono::milliseconds takes{};
    std::chrono::milliseconds delay{};
    std::chrono::milliseconds call{}; ///< of what is downstream, after that

    bool obeys_cancellation() const { return what != kind::deaf; }
};

/// True: the dependency of this tenant's messages is down then.
bool covers(spell const&, int tenant);

/// `again`: it has been tried in this process before. What it needs is found down once only, but for times in which
/// it is down for all.
part draw_part(scenario const&, int number, int receive_count, bool again, tick now);

/// The surroundings of a part.
struct stage {
    delivery& message;
    clock& time;
    std::function<void(std::chrono::milliseconds)> block; ///< holds the thread of the process for so long
    std::function<void()> acks;                           ///< it asks for its delete
    std::function<void()> acked;                          ///< and has been told that it is deleted
    std::function<void(guard_news, tick reach)> guard;    ///< of its lease: it is asked, agrees, refuses
    downstream* calls = nullptr;                          ///< null: it calls nothing
};

boost::asio::awaitable<outcome> play(part, stage);

/// Returns what the part returns in the end, or throws it.
outcome last_words(part const&);

/// The number, and what fills it up.
std::string draw_body(scenario const&, int number);

constexpr int most_damaged_receives = 20; // of a message that arrives damaged
bool arrives_damaged(scenario const&, int number, int receive_count);

} // namespace quern::sim::detail
