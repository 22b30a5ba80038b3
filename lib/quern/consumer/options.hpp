#pragma once

#include <quern/consumer/gate.hpp>
#include <quern/consumer/limits.hpp>
#include <quern/consumer/observer.hpp>
#include <quern/consumer/outcome.hpp>
#include <quern/consumer/tenant.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/policy/backoff.hpp>
#include <quern/policy/breaker.hpp>
#include <quern/policy/concurrency.hpp>
#include <quern/policy/flag.hpp>
#include <quern/sqs/client.hpp>
#include <quern/telemetry/log.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern {

class delivery;

/// The end of a message that nobody can read: its handler throws parse_error, or it arrived damaged.
enum class malformed_policy {
    retry,   ///< as one that failed: the redrive policy of the queue ends it
    reject,  ///< to the poison queue
    discard, ///< deleted
};

/// The conduct of a FIFO group when its head fails. The messages behind the head never overtake it.
enum class group_policy {
    retry_head, ///< the head comes again after its backoff, the group waits for it
    skip_head,  ///< the head is rejected, the group goes on once that is confirmed
    park_group, ///< the head comes again after `park_for`
    halt,       ///< the head is released and the consumer drains: somebody must look
};

/// Calls of a batch handler. On a FIFO queue each message of a call is of another group.
struct batch_options {
    /// The most messages that share a call; never more than limits.max_in_flight. At least 1.
    std::size_t size = 10;

    /// How long the first message of a call waits for others, its lease extended; above 0, at most 12 h. Absent: a
    /// call takes the messages that are there, at most those of one receive when no others wait.
    std::optional<std::chrono::milliseconds> window{};

    /// The most bytes of bodies that share a call; a longer body has a call for itself. Absent: any number.
    std::optional<std::size_t> bytes{};
};

/// FIFO queues.
struct fifo_options {
    /// The conduct of a group whose first message failed. Retrying it is what the order of the queue promises.
    group_policy on_failure = group_policy::retry_head;

    /// For group_policy::park_group; 1 s to 12 h.
    std::chrono::milliseconds park_for{3'600'000};
};

/// The conduct while something that handlers need is down.
struct outage_options {
    /// When message after message fails, or finds its dependency down, work goes on at a tenth of its usual speed
    /// until one succeeds. It never stops, because only a part may be down. Failed messages wait here, within a
    /// quarter of max_in_flight, or come again after 30 s to ten minutes; messages on their last receive are kept
    /// first. Absent: no breaker, and an unavailable() message comes again after `backoff`.
    std::optional<policy::breaker_options> breaker = policy::breaker_options();

    /// Your own rule in place of the breakers; see quern::gate. Null: the breakers.
    std::shared_ptr<quern::gate> gate{};

    /// A flag from outside (a parameter, a file) that halts the work, as if all dependencies of the handlers were
    /// down, until it says run. explain() has the obstacle `flag` meanwhile. Absent: none.
    std::optional<policy::flag_options> flag{};

    /// The dependency of a message's handler, if that is not its tenant: a database that several share, a partner's
    /// address. Each name has its own breaker. Called on the consumer's strand, once for each message received.
    /// Absent: the tenant.
    std::function<std::string(delivery const&)> dependency{};

    /// The most names with a breaker: 1,000, which is a few hundred kilobytes. A new name replaces the one unused for
    /// longest. 1 to 100,000.
    std::size_t max_dependencies = 1'000;
};

/// Turns of tenants, where consumer_options::tenant names them. What waits for its turn is begun fairly: each tenant
/// gets the same share of the time that handlers take, whatever it sends; what it leaves goes to the others. Order
/// within a tenant, and within a group of a FIFO queue, is kept. A batch handler's messages are not held to it.
struct fairness_options {
    /// Messages that may wait here for their turn, so that a burst of one tenant does not hide the messages of the
    /// others: the size of such a burst. Leases of waiting messages are long, 15 minutes at most, so after a crash
    /// such a message stays hidden that long. When one tenant fills it all, its newest messages go back to the queue
    /// while they have receives left. Needs limits.handler_concurrency (or concurrency), and a limits.max_in_flight
    /// above both together. Absent: as many as handlers take next, so a burst is seen only as far as SQS shows it.
    std::optional<std::size_t> look_ahead{};

    /// The share of a tenant in relation to the others, as 2 to 1; above 0. Called once for each new tenant, on the
    /// consumer's strand. Absent: 1 for each.
    std::function<double(std::string const& tenant)> weight{};

    /// The most handlers of one tenant at once. Its further messages wait; those that would take more than half of
    /// limits.max_in_flight (or all of look_ahead) go back as above. At least 1. Absent: any number.
    std::optional<std::size_t> tenant_concurrency{};
};

/// Requests that acknowledge messages and change their visibility.
struct settle_options {
    /// How long a delete may wait for others to share its request: while a handler runs, or messages arrive fast. 10
    /// ms is about the time of a request within a region, and little compared with a lease. Above 0, at most a
    /// twelfth of visibility_timeout, so that leases are extended in time. Absent: each goes at once.
    std::optional<std::chrono::milliseconds> linger{10};

    /// Batch requests under way at once; 2 to 1000, because one is reserved for changes of visibility: hanging
    /// deletes must not let leases run out. 32, so that even at 20 ms a request the deletes keep up with the messages
    /// of limits.max_polls receives.
    std::size_t max_calls = 32;
};

/// When the consumer ends by itself, because its receives are refused: the queue is gone, access is denied, or the
/// keys are not accepted. It drains then, and consumer::run() completes with the failure. A client that was closed
/// ends it in any case.
struct give_up_options {
    /// How long receives may be refused; an answer starts that time again. 0, which is the first refusal, to 24 h.
    /// Absent: for ever, because a revoked permission may be granted again; explain() says so meanwhile.
    std::optional<std::chrono::milliseconds> after{};

    /// The same before the first answered receive, when a wrong setting is the likely cause. Absent: as `after`. Zero
    /// is for programs started by hand; new permissions take SQS some seconds.
    std::optional<std::chrono::milliseconds> at_start_after{};
};

/// Settings of a consumer. Every default is meant for production; what is absent is off, so no zero means that.
struct consumer_options {
    /// How much is done at once, and in a time. They can change while the consumer runs: consumer::set_limits().
    consumer_limits limits{};

    /// Finds the number of calls of the handler at once, see policy::concurrency_rule: as many as keep the handlers'
    /// dependency busy without a queue there, within these bounds, and never more than `handler_concurrency` and
    /// `max_in_flight`. ack() and reject() count as throughput; unavailable(), and a handler that was cancelled for
    /// `handler_timeout`, as refusals. Absent: as many as those two options allow.
    std::optional<policy::automatic_concurrency> concurrency{};

    /// How long a receive waits for a message; 0 to 20 s, 20 is the cheapest. Shortened to two thirds of
    /// `drain_deadline`, because a drain lets the receives under way finish.
    std::chrono::seconds wait_time{20};

    /// How long a message that has arrived may wait in the queue so that one receive brings several: 0 to 1 s. Only
    /// while several arrive in that time, and no backlog waits. At 1,000 messages a second a receive brings five with
    /// the default of 5 ms, half of what a delete waits for others. Zero: each is received at once; then every
    /// message costs a receive, and as many receives are open (limits.max_polls at most) as arrive during twice a
    /// request. What each costs: docs/guide/operating.md#latency-or-requests.
    std::chrono::milliseconds receive_latency{5};

    /// The lease: how long a message stays hidden unless extended. Extended while its handler runs and until
    /// its delete is confirmed; 30 s bounds the delay after a crash. 3 s to 12 h.
    std::chrono::seconds visibility_timeout{30};

    /// The longest that one handler may run; then it is cancelled, and its message tried again like a failed one. A
    /// handler that goes on, and a plain function, which cannot be cancelled, keeps the lease for another
    /// visibility_timeout; then another consumer gets the message. Above 0, at most 12 h. Absent: as long as the
    /// lease can be extended, 12 hours at most.
    std::optional<std::chrono::milliseconds> handler_timeout{};

    batch_options batch{};

    /// When a message whose handler failed is tried again.
    policy::backoff backoff{};

    /// The age, from its first receive, at which a message that still fails is rejected. It is deleted if there is
    /// neither a `poison_queue` nor a dead-letter queue. The last try falls within the age. Applies to retry(),
    /// exceptions and retry_after() only. These times do not count: pauses, outages of the message's dependency,
    /// waits after its own unavailable(), and times that are unknown; the wait for a retry_at() counts. 1 s to 14
    /// days, the longest that SQS keeps a message. Absent: any age, the queue's redrive policy decides.
    std::optional<std::chrono::milliseconds> max_age{};

    /// The receive in which a message that fails is rejected, as with `max_age`, which may be set too: the one
    /// reached first counts. Applies to retry(), exceptions and retry_after() only. SQS counts each receive, those in
    /// an outage and of released messages too: these do not reject a message, but the next failure may. The queue's
    /// maxReceiveCount counts the same, and the dead-letter queue takes the message before one more receive, so
    /// `max_tries` must not be greater to have an effect. At least 1, which is a single try. Absent: any number, the
    /// queue's redrive policy decides.
    std::optional<int> max_tries{};

    /// Conduct for a message that cannot be read. Retrying is the default because it loses nothing and lets the
    /// queue's own policy decide. Always logged, apart from failures, with the message id.
    malformed_policy on_malformed = malformed_policy::retry;

    /// Where rejected messages go: a queue's URL, its name or its ARN. Absent: to the dead-letter queue of the
    /// queue's redrive policy, which needs the permission sqs:SendMessage there; without it SQS moves the message
    /// after too many receives. If there is no such queue they are deleted, with an error in the log and a warning at
    /// the start.
    std::optional<std::string> poison_queue{};

    /// Gives the outcome for an exception of the handler, or nothing for the default (parse_error is malformed,
    /// anything else is retry()). Called on the consumer's strand; must not throw.
    std::function<std::optional<outcome>(std::exception_ptr)> classify{};

    outage_options outage{};

    /// The tenant that a message belongs to: by_group(), by_attribute("tenant"), by_body("/customer/id"), or a
    /// function. Each tenant has its own breaker, unless `dependency` is set: while the dependency of one is down,
    /// the others go on. Absent: all messages are alike.
    tenant_rule tenant{};

    fairness_options fairness{};

    fifo_options fifo{};

    settle_options settle{};

    give_up_options give_up{};

    /// Budget of a drain that a signal starts, unless drain_on() is given another. At nine tenths of it, handlers
    /// still running are cancelled. 30 s, because Kubernetes grants a pod as much between SIGTERM and SIGKILL.
    std::chrono::milliseconds drain_deadline{30'000};

    /// System attributes to receive besides ApproximateReceiveCount and ApproximateFirstReceiveTimestamp.
    std::vector<std::string> system_attributes{};

    /// User attributes to receive: names, "prefix.*" or "All".
    std::vector<std::string> attributes{"All"};

    /// Where handlers run, coroutines each on a strand of its own, so they may block as long as there are threads.
    /// Give handlers that block a boost::asio::thread_pool; when it ends before the consumer, the consumer drains.
    /// Drain before you join or stop the pool: it still exists then, but runs nothing. Absent: the executor of the
    /// consumer, where coroutines share a few dozen strands, because one each would cost memory; one that blocks
    /// would stop the consumer's own work, lease extensions included.
    std::optional<boost::asio::any_io_executor> handler_executor{};

    /// Where warnings and errors go, such as failing receives or handlers: standard error by default. Called on the
    /// consumer's strand, one line a second and cause. Null: nowhere.
    log_sink log = to_standard_error();

    /// Whether the line about a malformed or damaged message shows how its body begins. Off, because a body may hold
    /// secrets. (The text of your parse_error is always in that line.)
    bool log_bodies = false;

    /// Receives every event of messages and consumer as it happens, for metrics and traces, and the requests of the
    /// client that the consumer makes for itself. Null: none, which costs nothing.
    std::shared_ptr<quern::observer> observer{};

    /// The time without a receive or a finished message after which the log says why, and again after twice that, at
    /// most one line a minute. A minute: an idle queue answers three times in it. 1 s to 24 h. Absent: never.
    std::optional<std::chrono::milliseconds> stall_after{60'000};

    /// Settings of the client that the consumer makes for itself if it is given none: region, endpoint, keys, proxy.
    /// See client_options_for() for those that the consumer sets; where.queue_url is the consumed queue unless it is
    /// set.
    sqs::client_options client{};

    /// Time; the real one when null. The simulator gives its own.
    clock* time = nullptr;

    /// Seeds the jitter; 0 takes one from the system.
    std::uint64_t seed = 0;

    /// The first setting, or combination, that cannot work.
    [[nodiscard]] std::optional<failure> validate() const;
};

} // namespace quern
