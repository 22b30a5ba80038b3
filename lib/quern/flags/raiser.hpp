#pragma once

#include <quern/core/alarm.hpp>
#include <quern/core/clock.hpp>
#include <quern/policy/flag.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>

namespace quern::flags {

/// Writes a flag that tells others of an outage that this process suspects: `open` once it has lasted for ten
/// seconds, and `closed` when it is over, or the process ends. For a redrive that must wait, say; not for the flag
/// that halts this consumer itself, which would then never find out that the outage is over. Of several that write
/// one flag, the last one counts, and who still suspects an outage writes again each minute.
///
///     void breaker_changed(std::string_view of, phase, phase to) override   // of an observer
///     {
///         if (of.empty()) raiser.outage(to != phase::closed);
///     }
///
/// Threads  one strand: the executor given. Lifetime  ends its work when it goes.
class raiser {
public:
    /// `trouble`: told of a write that failed, once for each kind; or null.
    raiser(boost::asio::any_io_executor, std::shared_ptr<policy::flag_source> to,
        std::function<void(std::string const&)> trouble = nullptr, clock& = real_clock());
    ~raiser();
    raiser(raiser const&) = delete;
    raiser& operator=(raiser const&) = delete;

    void outage(bool suspected);

    /// Completes when the flag is closed, where it was open, or could not be within five seconds.
    boost::asio::awaitable<void> end();

private:
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace quern::flags
