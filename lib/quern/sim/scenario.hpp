#pragma once

#include <quern/broker/faults.hpp>
#include <quern/consumer/limits.hpp>
#include <quern/consumer/options.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace quern::sim {

/// The chances of what a simulated handler does with one try of a message.
struct handler_mix {
    double fails = 0;     ///< throws
    double backs_off = 0; ///< retry_after, 1 to 90 s
    double releases = 0;
    double rejects = 0;
    double misreads = 0;    ///< throws parse_error
    double condemns = 0;    ///< throws `condemned`
    double unavailable = 0; ///< throws `dependency_down`, as every try does while the dependency is down
    double hangs = 0;       ///< until it is cancelled
    double deaf = 0;        ///< and does not obey a cancellation, for a few leases
    double blocks = 0;      ///< holds the thread of its process, for up to two leases
    double acks = 0;        ///< awaits its delete half way, and may throw afterwards, which changes nothing
    double insists = 0;     ///< asks for its delete again and again, or as it ends, and awaits none of them
    double extends = 0;     ///< awaits an extension half way
    double guards = 0;  ///< has its extensions wait for a guard, which is slow, or refuses the second, and takes long
    double slow = 0;    ///< takes up to three leases; the others up to 100 ms
    double damaged = 0; ///< arrives unreadable, this share of the messages, for twenty receives
    int troubled_tries = 3; ///< from the next on, every try succeeds
};

/// An exception of simulated handlers, for consumer_options::classify to make a verdict of.
struct condemned : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct dependency_down : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// reject() and unavailable(); nothing of other exceptions.
std::optional<outcome> classify(std::exception_ptr);

/// A time with faults of its own.
struct spell {
    std::chrono::milliseconds from{}, until{};
    broker::fault_settings faults;
    bool credentials_expired = false; ///< every request is refused
    bool without_handles = false;     ///< what receives bring has neither an id nor a receipt handle
    bool dependency_down = false;     ///< every try of a handler throws dependency_down, at once
    std::uint64_t tenants_down = 0;   ///< those of the tenants in this set do: bit 0 for the first
};

/// Something that happens to a process.
struct incident {
    enum class kind {
        pause, ///< it is not scheduled, as in a suspended virtual machine
        kill,  ///< it ends at once, without a drain; another takes its place
        stop,  ///< it drains and ends; another takes its place
        hurry, ///< it is told to stop twice
        start, ///< it is killed, and the next is told to stop as it starts
        clock, ///< its calendar jumps
        rest,  ///< its consumer is paused, as its user may
        turn,  ///< its consumer gets other limits
    };
    kind what;
    int process = 0;
    std::chrono::milliseconds at{};
    std::chrono::milliseconds by{};   ///< length of the pause or rest, limit of the drain, jump of the calendar
    std::chrono::milliseconds then{}; ///< hurry: until it is told again
    consumer_limits limits{};         ///< turn: to these
};

/// Messages that are sent all at once, besides those that come evenly.
struct pile {
    std::chrono::milliseconds at{};
    int messages = 0;
};

/// How long calls of what is downstream of the handlers take, in the mean `call_takes` without a queue there.
enum class call_times {
    exponential,
    longer_with_load, ///< by 3 % for each call that waits
    bimodal,          ///< nine in ten a fifth of the mean, the tenth 8.2 times
};

/// Number of calls that are worked on at once downstream, from then on.
struct capacity {
    std::chrono::milliseconds from{};
    int servers = 1;
};

/// A promise about speed: how many tries of handlers end in a second, compared with an earlier time of the same day.
/// Tries that find what they need down do not count.
struct speed_promise {
    std::chrono::milliseconds usual_from{}, usual_until{};
    std::chrono::milliseconds from{}, until{};
    double share = 0.9;
    std::uint64_t of_tenants = ~std::uint64_t(0); ///< whose messages count
    std::string when;                             ///< "while 3 of 10 tenants are down, for the others"
    double usual = 0;                             ///< a second, where it is known; 0: as in that time
    std::chrono::milliseconds longest_mean{};     ///< of what a try takes; 0: any
};

/// The program and settings of a process, where not all run the same.
struct version {
    consumer_options consumer;
    double jitter = 0.5;
    bool batches = false;
};

/// One simulated day, drawn from a seed or written by hand.
struct scenario {
    std::string name;
    std::uint64_t seed = 1;
    int messages = 100;
    std::chrono::milliseconds sent_within{10'000}; ///< evenly, but for
    std::vector<pile> piles;                       ///< of these messages, in the order of their times
    std::size_t longest_body = 0;                  ///< bytes after the number; each is drawn. 0: the number alone
    int groups = 0;                                ///< of a FIFO queue; 0: a standard queue
    int max_receives = 0;                          ///< of the redrive policy to a dead-letter queue; 0: none
    int receives_before = 0;                       ///< as that policy has it until it is lowered; 0: as it is all day
    std::chrono::milliseconds lowered_at{};        ///< to max_receives
    int most_dead = -1; ///< in the dead-letter queue, where it is no fault of the messages; -1: any number
    int processes = 1;
    int together = 1;            ///< consumers in each of them; an incident happens to all of these
    int queues = 1;              ///< a message goes to each in turn; the first consumer takes the first, and so on
    std::size_t connections = 0; ///< for the long polls of a process, whose consumers share a client; 0: enough
    consumer_options consumer;
    std::vector<version> versions; ///< of the processes, in turn; empty: all run what this day says
    double jitter = 0.5;           ///< the largest part that consumer.backoff leaves to chance
    bool on_a_pool = false;        ///< handlers run on an executor of their own
    bool batches = false;   ///< handlers take several messages at once, and play their parts one after the other
    bool functions = false; ///< handlers are plain functions: none hangs, or asks for anything. Yours never is one
    int threads = 0;        ///< that these occupy; 0: that of the process, where they take no time, but may hold it
    handler_mix handlers;
    std::chrono::milliseconds takes{}; ///< each try, that finds what it needs; 0: up to 100 ms
    /// Servers that each handler which is a coroutine calls once, in the order of their times; empty: none.
    std::vector<capacity> servers;
    call_times calls = call_times::exponential;
    std::chrono::milliseconds call_takes{100};
    int tenants = 0;          ///< at most 64; 0: there is one for all
    int in_a_row = 1;         ///< so many messages of one tenant, then as many of another
    bool in_turn = true;      ///< the tenants follow each other; else each row has one that is drawn
    bool keyed = false;       ///< the consumer is told the tenant, if it can be
    bool takes_turns = false; ///< and told so as one who has turns
    /// Tenants are message groups of a fair queue, which notices a noisy one within that time; absent: it knows none.
    std::optional<std::chrono::seconds> fair_queue;
    bool healthy = false; ///< those that are not down are promised nine tenths of this day without a breaker
    int poisoned = 0;     ///< so many messages, from a third of the day on, always find what they need down
    std::chrono::milliseconds
        dead_within{};       ///< of its first receive a poisoned message is received for the last time
    bool counts_age = false; ///< outages and rests are known, and count for no message's age
    std::vector<speed_promise> speeds;
    double short_answers = 0;             ///< chance that a receive brings fewer than it might
    std::chrono::milliseconds latency{1}; ///< of the network, there and back, when nothing is wrong
    std::vector<spell> spells;
    std::vector<incident> incidents;
    std::chrono::milliseconds patience{std::chrono::hours(2)}; ///< after all faults: the queue is empty by then
};

struct scenario_name {
    std::string_view name, about;
};
std::span<scenario_name const> scenarios();

std::chrono::milliseconds sent_at(scenario const&, int number);
int tenant_of(scenario const&, int number);
int group_of(scenario const&, int number); ///< of a FIFO queue; with tenants, each group is of one
bool is_poisoned(scenario const&, int number);

/// How long, of that time, the consumers of this process had to stand back, and must have known it.
std::chrono::milliseconds stood_back(scenario const&, int process, tick from, tick until);

/// Draws that scenario from the seed. Throws std::invalid_argument that lists the names when there is none such.
scenario draw(std::string_view name, std::uint64_t seed);

} // namespace quern::sim
