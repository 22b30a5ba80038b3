#pragma once

#include <quern/consumer/forwarding_observer.hpp>
#include <quern/core/clock.hpp>
#include <quern/telemetry/counter.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace quern::admin {

/// Bounds of the classes in which durations are counted, in milliseconds; one more class holds what is longer.
inline constexpr std::array<int, 14> duration_bounds{
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1'000, 2'000, 5'000, 10'000, 30'000};

/// How many durations fell into each class.
using duration_counts = std::array<std::uint64_t, duration_bounds.size() + 1>;

/// Something that went wrong.
struct trouble {
    wall_time at{};
    std::string what;    ///< "handler threw", "receive failed", "lease lost", "rejected" and their like
    std::string message; ///< its id; empty when it is about none
    int attempt = 0;     ///< of the message
    std::string text;
};

/// Words for a handler that did not return by itself; null for one that did, or never began.
char const* words_for(handler_end);

/// Sum of what a recorder has seen so far.
struct recorded {
    duration_counts queued{}, waited{}, handled{}, settling{};
    std::map<std::string, std::string> breakers; ///< phase by dependency, of those that are not closed
    std::vector<trouble> troubles;               ///< the newest first
};

/// Counts what a consumer does, and keeps what went wrong lately: what a look at it needs beside its explanation.
///
/// Costs     four additions a message; a lock only when something goes wrong.
/// Threads   events on the consumer's strand, look() on any.
class recorder : public forwarding_observer {
public:
    static constexpr std::size_t kept = 50;          ///< troubles
    static constexpr std::size_t most_breakers = 50; ///< shown

    /// `next` is told of every event as well.
    explicit recorder(clock& time = real_clock(), std::shared_ptr<observer> next = {});

    recorded look() const;

    bool wants_queued() const override { return true; }
    void received(observed_message const&) override;
    void began(observed_message const&) override;
    void ended(observed_message const&, handler_end, outcome::kind) override;
    void lease_lost(observed_message const&) override;
    void settled(observed_message const&, message_end, std::chrono::seconds again) override;
    void receive_failed(failure const&, int in_a_row) override;
    void breaker_changed(
        std::string_view dependency, policy::breaker::phase from, policy::breaker::phase to) override;

private:
    using classes = std::array<counter, duration_bounds.size() + 1>;

    static void add(classes&, tick::duration);
    void note(std::string what, observed_message const*, std::string text);

    clock& time_;
    classes queued_, waited_, handled_, settling_;

    std::mutex mutable lock_; // for these
    std::map<std::string, std::string> breakers_;
    std::deque<trouble> troubles_;
};

} // namespace quern::admin
