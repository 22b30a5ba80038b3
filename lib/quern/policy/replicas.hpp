#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace quern::policy {

/// A queue, and what this process does on it, at one moment.
struct queue_load {
    std::uint64_t visible = 0;                       ///< messages that wait in the queue, as SQS says, approximately
    std::uint64_t not_visible = 0;                   ///< messages in flight, of all processes, likewise
    std::uint64_t done = 0;                          ///< messages settled here, ever
    std::chrono::duration<double> held{}, handled{}; ///< times that they all were held here, and handled, together
    std::size_t in_flight = 0;                       ///< messages held here now
    std::size_t running = 0;                         ///< of these, with a handler at work
    std::size_t places = 1;                          ///< handlers that may run here at once
    std::optional<double> rate{};                    ///< handlers that may begin here in a second
    std::size_t put_off = 0;                         ///< messages given back from here that SQS still hides
    bool slowed = false; ///< by an outage or a pause: what is done now tells nothing of what could be
};

struct replica_options {
    /// Longest time that a message should wait in the queue. An autoscaler looks every 15 s to 60 s and a process
    /// takes as long to start, so less than that cannot be kept by more processes.
    std::chrono::milliseconds target_dwell{60'000};

    /// Part of the processes' capacity that arrivals alone should take; what is left over lets bursts drain. 0.1 to
    /// 1.
    double utilisation = 0.85;

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Tells how many processes like this one a queue needs, for an autoscaler: enough for what arrives, and enough more
/// that nobody waits longer than the target. Each process can tell it, alone, from the numbers of the queue:
///
/// - all processes together do as many a second as are in flight, divided by the time that one is held (Little);
/// - what arrives is that, and what the backlog grows by;
/// - one process does as many as it has handlers, divided by the time that one takes; or as many as it did when it
///   was last full; never more than its rate.
///
/// More processes are wanted at once; fewer only when these would do with a fifth of one to spare, or with one in
/// sixteen, so that it does not swing between two numbers.
///
/// Threads  one strand.
class replica_rule {
public:
    /// Requires  options.validate() found nothing.
    explicit replica_rule(replica_options const& options) : options_(options) {}

    /// Takes up the queue's numbers, every 10 s to 60 s: SQS tells them that late.
    void observe(queue_load const&, tick now);

    /// Processes that the queue needs, one at least; absent: not known before something was handled here, twice
    /// observed.
    std::optional<std::size_t> wanted() const { return wanted_; }

    double arrivals() const { return arrivals_; } ///< a second, into the queue
    double capacity() const { return capacity_; } ///< a second, of one process

    /// "3 wanted: 120 a second arrive, one handles 50 a second, 900 wait"
    std::string explain() const;

private:
    void learn(queue_load const&, double seconds, tick now);

    replica_options const options_;
    std::optional<queue_load> last_;
    tick last_at_{};
    double held_ = 0, handled_ = 0; // seconds, of a message
    double full_ = 0;               // a second, when it was last full
    tick full_at_{};
    std::array<double, 3> seen_{}; // arrivals, the latest first
    int looks_ = 0;
    double arrivals_ = 0, capacity_ = 0;
    std::uint64_t waiting_ = 0;
    std::optional<std::size_t> wanted_;
};

} // namespace quern::policy
