#pragma once

#include <quern/core/alarm.hpp>
#include <quern/redrive/redriver.hpp>

#include <list>
#include <optional>
#include <string>

namespace quern::redrive::detail {

/// Lets one send after another begin, as the rules of the run and its flag say, until it is closed.
///
/// Threads  one strand.
class gate {
public:
    /// Rings `news` when the flag ends the run.
    gate(options const& o, clock& time, run_rule& rule, alarm& news) : o_(o), time_(time), rule_(rule), news_(news) {}

    /// Completes when one more may begin, or none may any more; see run_rule::ask().
    boost::asio::awaitable<run_rule::answer> turn(bool paced, bool again = false);

    /// Completes at `at`, or when the gate is closed.
    boost::asio::awaitable<void> until(tick at);

    void wake(); ///< all that wait: the rules may answer otherwise
    void close();
    bool is_closed() const { return closed_; }

private:
    run_rule::turn ask(bool paced, bool again);
    void note_halt(std::optional<std::string> const& why);

    options const& o_;
    clock& time_;
    run_rule& rule_;
    alarm& news_;
    std::list<alarm*> waiting_;
    std::optional<tick> halted_since_;
    bool closed_ = false;
};

} // namespace quern::redrive::detail
