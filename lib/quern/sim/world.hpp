#pragma once

#include <quern/sim/scenario.hpp>
#include <quern/sim/subject.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace quern::sim {

struct run_options {
    bool trace = false; ///< keep a line for everything that happens
    subject_factory subject = real_consumer();
};

/// What became of a simulated day.
struct run_result {
    std::vector<std::string> violations; ///< broken promises, see witness; empty: passed
    std::vector<std::string> trace;
    std::chrono::milliseconds lasted{}; ///< virtual time
    std::size_t requests = 0;
    std::size_t steps = 0;

    bool passed() const { return violations.empty(); }
};

/// Lets the day pass: a queue in the broker's engine, processes that consume it, and whatever the scenario has in store
/// for them; then good weather, until the queue is empty; then a drain. Equal scenarios give equal results.
///
/// Threads  any; runs share nothing.
run_result run(scenario const&, run_options const& = {});

} // namespace quern::sim
