#pragma once

#include "hostile_wire.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quern::test {

/// A day of the whole stack: consumers with their own clients, real sockets, TLS and signatures, a wire that breaks,
/// and a broker with its real server. What happens is drawn from the seed; time is virtual.
struct stack_day {
    struct spell {
        std::chrono::milliseconds from, until;
        wire_faults faults;
    };
    struct event {
        enum class kind {
            kill,      ///< a process; another takes its place
            stop,      ///< it drains; another takes its place
            cut,       ///< all connections are reset
            silence,   ///< all connections are dead, and nobody is told
            skew,      ///< the server's calendar is another from now on
            keys_gone, ///< what hands out the keys says nothing for a while
        };
        kind what;
        std::chrono::milliseconds at;
        std::chrono::milliseconds by{}; ///< limit of the drain, difference of the calendars, length
        std::size_t process = 0;
    };

    std::uint64_t seed = 1;
    bool tls = false;
    int messages = 100;
    std::size_t processes = 1;
    std::size_t in_flight = 50;
    std::chrono::seconds visibility{30};
    std::chrono::seconds wait{20};
    std::chrono::milliseconds longest_work{500};
    double fails = 0; ///< chance that a try of a handler throws
    std::chrono::seconds keys_last{900};
    std::vector<spell> spells;
    std::vector<event> events; ///< in the order of their times
    std::chrono::milliseconds calm_from{};
    std::chrono::milliseconds sent_until{}; ///< evenly
};

stack_day draw_stack_day(std::uint64_t seed);

struct stack_result {
    std::vector<std::string> violations;
    std::vector<std::string> trace;
    std::size_t requests = 0, connections = 0;
    std::chrono::nanoseconds lasted{};
};

/// Runs it. `certificates`: a folder with authority.pem, server.pem and server-key.pem, for 127.0.0.1.
stack_result run_stack_day(stack_day const&, std::string const& certificates);

} // namespace quern::test
