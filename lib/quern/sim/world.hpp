#pragma once

#include <quern/consumer/drain_report.hpp>
#include <quern/sim/coverage.hpp>
#include <quern/sim/process.hpp>
#include <quern/sim/scenario.hpp>
#include <quern/sim/subject.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace quern::sim {

struct run_options {
    bool trace = false; ///< keep a line for everything that happens
    subject_factory subject = real_consumer();

    /// Your handler, instead of what scenario::handlers draws. The same object serves every process of the day: what
    /// it refers to is the database that they share. It must obey a cancellation, and take the time from its clock
    /// only: for anything real virtual time does not wait, see run_result::warnings.
    timed_handler handle{};

    /// The body of a message; no two alike. Empty: its number.
    std::function<std::string(int number)> body{};

    /// The day ends at the first broken promise of which this is true; empty: at its end.
    std::function<bool(std::string const& violation)> enough{};

    /// Receives what the day reaches; null: nobody wants to know.
    coverage* reached = nullptr;
};

/// The reports of all drains of a day, summed up.
struct drain_sum {
    std::size_t drains = 0, clean = 0;
    drain_report of_all; ///< took: the longest

    void add(drain_report const& one) { add(drain_sum{1, one.clean() ? std::size_t(1) : 0, one}); }
    void add(drain_sum const& more)
    {
        drains += more.drains;
        clean += more.clean;
        of_all.add(more.of_all);
    }
};

/// The result of a simulated day.
struct run_result {
    std::vector<std::string> violations; ///< broken promises, see witness; empty: passed
    /// Doubts about the test itself; of a day with violations these are the first of them.
    std::vector<std::string> warnings;
    std::vector<std::string> trace;
    std::map<int, tick> handled;        ///< with success, for the first time
    std::chrono::milliseconds lasted{}; ///< virtual time
    std::size_t requests = 0;
    std::size_t steps = 0;
    drain_sum drains;

    bool passed() const { return violations.empty(); }
};

/// Lets the day pass: a queue in the broker's engine, processes that consume it, and whatever the scenario has in
/// store for them; then good weather, until the queue is empty; then a drain. Equal scenarios give equal results.
///
/// Threads  any; runs share nothing.
run_result run(scenario const&, run_options const& = {});

} // namespace quern::sim
