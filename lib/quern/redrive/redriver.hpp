#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/redrive/filter.hpp>
#include <quern/redrive/journal.hpp>
#include <quern/redrive/plan.hpp>
#include <quern/redrive/report.hpp>
#include <quern/redrive/run_rule.hpp>
#include <quern/sqs/api.hpp>
#include <quern/sqs/client.hpp>
#include <quern/telemetry/log.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern {

class consumer;
class observer;

} // namespace quern

namespace quern::redrive {

namespace detail {
class redriver_state;
}

/// A queue for some of the messages.
struct target {
    predicate of;
    std::string url;
};

/// Settings of a run over one dead-letter queue.
struct options {
    std::string dlq_url{};
    std::string to_url{}; ///< where all go; empty: each to the queue that it came from

    /// Queues for some: the first whose condition holds for a message is its own. to_url is for the others.
    std::vector<target> targets{};

    std::string poison_url{}; ///< where poison goes; empty: it is left, and reported

    plan_policy plan{}; ///< its began_at and cutoff are set by the run
    bool cutoff = true; ///< what has come back since the run began is not sent again
    filter which{};     ///< what is not chosen stays
    run_limits speed{};

    /// Messages held at once, and so at most in unknown state after a crash. 1 to 10,000. Ten: what one request
    /// takes.
    std::size_t concurrency = 10;

    /// Asked before each send: why nothing may be sent now. Then the run stops. Must not block.
    std::function<std::optional<std::string>()> halted{};
    bool waits_when_halted = false; ///< rather than stop: `concurrency` messages are held until work may go on

    bool keep = false;    ///< send copies, and delete nothing
    bool dry_run = false; ///< send nothing, and count what would be done

    std::chrono::seconds wait_time{1};           ///< of a receive; the run ends no sooner after the last message
    std::chrono::seconds visibility_timeout{30}; ///< likewise; a process that is killed leaves what it held hidden
    std::chrono::milliseconds drain_deadline{30'000};

    /// Where every decision is written before it is carried out; null: nowhere. A run that it has begun goes on.
    /// Outlives run(). Not with keep or dry_run.
    journal* record = nullptr;
    std::string record_input{}; ///< settings of the run, for those who resume it

    /// Attempts that journals of earlier runs have counted of messages that have no room for the attribute, by id;
    /// see counted_attempts(). With a journal such a message goes unchanged.
    std::map<std::string, int, std::less<>> counted_before{};

    /// For who looks at a run from outside, where not null: the observer of the consumer of the dead-letter queue,
    /// what is given that consumer before it begins, and what is awaited when it has ended, before it goes.
    std::shared_ptr<quern::observer> observer{};
    std::function<void(consumer const&)> begins{};
    std::function<boost::asio::awaitable<void>()> ends{};

    log_sink log = to_standard_error(); ///< every decision at level debug, what is isolated or left at info
    clock* time = nullptr;              ///< the real one when null
    std::uint64_t seed = 0;             ///< of jitter; 0: from the system

    /// The first setting, or combination, that cannot work.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Settings of a client that a redriver with these options may share with nobody.
sqs::client_options client_options_for(options const&, sqs::client_options base = sqs::client_options());

/// Empties a dead-letter queue, with any number of processes at once: a consumer of it whose handler sends and
/// deletes. The dead-letter queue keeps the only copy until the next queue has confirmed; a crash in between makes a
/// second copy and loses none. Of a FIFO queue groups go in parallel, each one by one in its order, and no further
/// than a message that stays.
///
/// Lifetime  `api` outlives run().
/// Threads   an executor that one thread runs, for every call.
class redriver {
public:
    /// Throws boost::system::system_error that names the option when one is wrong.
    redriver(boost::asio::any_io_executor, sqs::api& api, options);
    redriver(redriver const&) = delete;
    redriver& operator=(redriver const&) = delete;
    ~redriver();

    /// Works until the queue is empty of what can be received, the limit is reached, a rule stops it, or stop(); then
    /// drains, gives back what was passed over, and completes with the report. Once.
    ///
    /// Fails with    what refused the first requests: no such queue, no permission, no source queue to be found
    /// Cancellation  none: stop() it.
    boost::asio::awaitable<result<report>> run();

    /// Begins to drain. A second call cancels what waits.
    void stop();

    /// The counts as they are now.
    report const& so_far() const;

private:
    std::shared_ptr<detail::redriver_state> state_;
};

} // namespace quern::redrive
