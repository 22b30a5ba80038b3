#pragma once

#include <quern/core/clock.hpp>
#include <quern/policy/breaker.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

/// Decides which messages may begin while something is wrong with what their handlers need, and where the others
/// wait. The consumer's own has breakers, see outage_options::breaker; one of yours goes into
/// outage_options::gate.
///
/// Pausing, flags, rate limits and handler_concurrency are asked beside it, and need nothing of it.
///
/// No call may throw, but for want of memory.
///
/// Threads  the consumer's strand.
class gate {
public:
    virtual ~gate() = default;

    /// Receives left of a message that no dead-letter queue takes.
    static constexpr int unlimited = std::numeric_limits<int>::max();

    /// A message, as far as a gate has to know it.
    struct subject {
        std::uint64_t number = 0;      ///< as long as it is here
        std::uint64_t id = 0;          ///< the same whenever it comes again
        std::string_view key;          ///< see outage_options::dependency; empty: it has none
        int receives_left = unlimited; ///< until the dead-letter queue takes it; 0: this is the last
        tick began_at{};               ///< of its handler, in ended()
    };

    /// How a handler ended.
    struct news {
        enum class sign {
            none,   ///< nothing that is told of others
            good,   ///< it succeeded
            failed, ///< perhaps by a fault of its message
            down,   ///< what it needs was found down
        };
        sign what = sign::none;
        std::optional<std::string> about; ///< what it tells of; absent: the message's own key
    };

    /// Where a message goes.
    struct answer {
        enum class way {
            on,        ///< its handler may begin; after it ended, the usual way
            wait_here, ///< kept, its lease extended, until due() names it
            go_back,   ///< to the queue, visible again after `delay`
        };
        way to = way::on;
        std::chrono::milliseconds delay{};
        bool hurries = false;   ///< it may begin, and must not wait for others of a batch
        bool spilled = false;   ///< it goes back from its last receive, since there is no place for it here
        bool took_turn = false; ///< it may not begin, and the next is received as late as if it had
    };

    /// Messages that may be received now besides those that are here.
    virtual std::size_t room(tick now) = 0;

    /// Messages that may begin in a second; absent: any number. Beside the user's own rate.
    virtual std::optional<double> rate(tick now) = 0;

    /// True: what arrives begins before what waits here.
    virtual bool prefers_fresh() { return false; }

    /// A message that has arrived, or was called back before it began: may it begin?
    virtual answer ask(subject const&, tick now) = 0;

    virtual void started(subject const&, tick now) = 0;

    /// A handler has ended. `on` leaves the message to its outcome, unavailable() to the usual backoff.
    virtual answer ended(subject const&, news const&, tick now) = 0;

    /// A message that waited here, by its number, and where it goes now. `may_begin`: one that may go on now is
    /// wanted as well.
    struct leave {
        std::uint64_t number;
        answer what;
    };
    virtual std::optional<leave> due(bool may_begin, tick now) = 0;

    /// When time alone will change one of these answers. A time that has passed says that due() has a message.
    virtual std::optional<tick> wake_at(tick now) = 0;

    /// The consumer is paused, or somebody has said that everything is down: nothing begins, whatever ask() says.
    virtual void stop(bool /*set*/, tick /*now*/) {}

    /// Somebody has mended something, perhaps: what waits may be tried, one at once.
    virtual void probe(tick /*now*/) {}

    /// The most messages that may wait here.
    virtual void set_places(std::size_t) {}

    /// The suspicion in words, for explain(); empty: there is none.
    virtual std::string explain(tick /*now*/) { return {}; }

    /// Changes since this was asked last, for observer and log.
    struct change {
        std::string key;
        policy::breaker::phase from, to;
        std::string why;
    };
    virtual std::vector<change> take_changes() { return {}; }
};

} // namespace quern
