#pragma once

#include <quern/broker/faults.hpp>
#include <quern/consumer/options.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::sim {

/// What a simulated handler does with one try of a message, drawn by chance.
struct handler_mix {
    double fails = 0;     ///< throws
    double backs_off = 0; ///< retry_after, 1 to 90 s
    double releases = 0;
    double rejects = 0;
    double misreads = 0;    ///< throws parse_error
    double hangs = 0;       ///< until it is cancelled
    double deaf = 0;        ///< and does not obey a cancellation, for a few leases
    double slow = 0;        ///< takes up to three leases; the others up to 100 ms
    double damaged = 0;     ///< arrives unreadable, this share of the messages, for twenty receives
    int troubled_tries = 3; ///< from the next on, every try succeeds
};

/// A time with faults of its own.
struct spell {
    std::chrono::milliseconds from{}, until{};
    broker::fault_settings faults;
};

/// Something that happens to a process.
struct incident {
    enum class kind {
        pause, ///< it is not scheduled, as in a suspended virtual machine
        kill,  ///< it ends at once, without a drain; another takes its place
        stop,  ///< it drains and ends; another takes its place
        hurry, ///< it is told to stop twice
        clock, ///< its calendar jumps
    };
    kind what;
    int process = 0;
    std::chrono::milliseconds at{};
    std::chrono::milliseconds by{}; ///< length of the pause, limit of the drain, jump of the calendar
};

/// One simulated day, drawn from a seed or written by hand.
struct scenario {
    std::string name;
    std::uint64_t seed = 1;
    int messages = 100;
    std::chrono::milliseconds sent_within{10'000};
    int groups = 0;       ///< of a FIFO queue; 0: a standard queue
    int max_receives = 0; ///< of the redrive policy to a dead-letter queue; 0: none
    int processes = 1;
    consumer_options consumer;
    handler_mix handlers;
    std::chrono::milliseconds latency{1}; ///< of the network, there and back, when nothing is wrong
    std::vector<spell> spells;
    std::vector<incident> incidents;
    std::chrono::milliseconds patience{std::chrono::hours(2)}; ///< after all faults: the queue is empty by then

    /// What cannot be read is deleted.
    bool discards_malformed() const
    {
        return consumer.on_malformed == malformed_policy::discard ||
            (consumer.on_malformed == malformed_policy::reject && consumer.poison_queue_url.empty());
    }
};

struct scenario_name {
    std::string_view name, about;
};
std::span<scenario_name const> scenarios();

/// That scenario as the seed has it. Throws std::invalid_argument that lists the names when there is none such.
scenario draw(std::string_view name, std::uint64_t seed);

} // namespace quern::sim
