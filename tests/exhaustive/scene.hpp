#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::test {

/// Step that may come next. `which`: a message of the queue, or a call of the process in the order of their sending.
struct event {
    enum kind : std::uint8_t {
        receives,
        receives_again, ///< although it is hidden, or deleted
        receive_lost,   ///< it is hidden, and the process does not hear of it
        poll_ends,
        carried_out, ///< a call, whose answer is still on its way
        answered,    ///< carried out, if it was not before
        request_lost,
        answer_lost,
        entry_fails, ///< the first, or the second, of a call with two
        refused,     ///< for good
        succeeds,
        fails,
        rejects,
        obeys, ///< its cancellation
        asks_delete,
        asks_lease,
        drains,
        hurries, ///< its drain
        pauses,
        resumes,
        sleeps, ///< for longer than a lease: nothing of the process runs
        waits,  ///< all: until something happens
        waits_half
    };
    static constexpr std::size_t kinds = 23;

    kind what = waits;
    std::uint8_t process = 0;
    std::uint8_t which = 0;
    std::uint8_t entry = 0;

    bool operator==(event const&) const = default;
};

using path = std::vector<event>;

std::string_view name_of(event::kind);

/// As code for a test: "{event::receives, 0, 1}, {event::waits}".
std::string to_code(path const&);

/// The world of a search: who is there, and how often what may happen.
struct scene {
    char const* name = "";
    int messages = 1, processes = 1;
    int faults = 2, repeats = 1, drains = 1, sleeps = 0, halves = 0, pauses = 0;
    int reads_ahead = 0;        ///< calls of which the effect and the answer are apart
    bool fails = true;          ///< handlers do
    bool rejects = false;       ///< handlers do
    bool keeps_copies = true;   ///< of rejected messages
    bool asks = false;          ///< for deletes, while they run
    bool asks_longer = false;   ///< for longer leases
    bool one_at_a_time = false; ///< handlers, so that the second message waits
    bool in_batches = false;
    bool refuses_old = false;
    bool has_timeout = false; ///< of handlers
};

inline constexpr std::chrono::seconds lease{30}, backoff{10}, longest_call{5}, longest_drain{60}, handler_limit{45};

} // namespace quern::test
