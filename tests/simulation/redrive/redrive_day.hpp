#pragma once

#include <quern/redrive/journal.hpp>
#include <quern/redrive/redriver.hpp>
#include <quern/sim/scenario.hpp>
#include <quern/sim/world.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::sim {

/// One simulated day of a dead-letter queue, drawn from a seed or written by hand: messages, consumers that fail
/// until they are mended, and redrivers that are killed, drained and replaced, behind a network with faults.
struct redrive_day {
    std::string name;
    std::uint64_t seed = 1;
    bool fifo = false;
    bool journal = false; ///< on a disk that outlives its redriver, of which there is one at a time
    int redrivers = 1;    ///< at a time
    int sources = 1;      ///< queues that share the dead-letter queue
    int max_receives = 1; ///< then a message is dead
    int messages = 30;
    std::chrono::milliseconds sent_within{600'000};
    std::chrono::milliseconds mended_after{1'800'000}; ///< from then on each message succeeds that can
    std::chrono::milliseconds works_every{30'000};     ///< the consumers; more than they hold a message for
    std::chrono::milliseconds rest{300'000};           ///< the longest one between two redrivers
    int most_kills = 0, most_stops = 0;
    std::chrono::milliseconds latency{1};
    std::vector<spell> spells; ///< of the network of the redrivers
    redrive::options options;  ///< but for the queues, the clock, the log and the journal
    std::chrono::milliseconds patience{std::chrono::hours(48)}; ///< after all that: the queues are empty by then
};

std::span<scenario_name const> redrive_scenarios();

/// Draws that scenario from the seed. Throws std::invalid_argument when there is none such.
redrive_day draw_redrive(std::string_view name, std::uint64_t seed);

/// Seams at which a test puts a flaw into the redriver, which must be caught. Empty: the redriver as it is.
struct redrive_seams {
    /// Stands between a redriver and its network.
    std::function<std::unique_ptr<sqs::api>(sqs::api&, boost::asio::any_io_executor)> api;

    /// Stands between a journal and its disk.
    std::function<std::unique_ptr<redrive::journal_file>(std::unique_ptr<redrive::journal_file>)> file;
};

/// Lets the day pass, and then time, until the queues are empty. A message is never handled, handled once it was
/// redriven, once the consumers are mended, or at once; and so
///
///     never                      ends in the poison queue, with all its attempts counted
///     once redriven, at once     is handled, by the consumer of its own queue
///     once mended                ends in one of the two ways
///
/// at any time, what is deleted from the dead-letter queue was confirmed by another; the messages of a group go in
/// their order; and what is there twice was counted, unless a redriver without a journal was killed.
run_result run(redrive_day const&, bool trace = false, redrive_seams const& = {});

} // namespace quern::sim
