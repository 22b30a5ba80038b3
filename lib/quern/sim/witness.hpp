#pragma once

#include <quern/consumer/drain.hpp>
#include <quern/core/clock.hpp>
#include <quern/sim/network.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace quern::sim {

/// How one run of a handler ended.
enum class verdict { succeeded, failed, cancelled, discarded };

/// Keeps the books of a simulated queue and names every promise that is broken. A message is known by its number,
/// which is its body; what happens to it at the service and what processes believe are kept apart.
///
/// Promises  No message is lost. No handler runs twice at once for one message in one process. Nothing is deleted that
///           the deleting process has not handled while it held the lease. A handler outlives a lost lease by `slack` at
///           most. A backoff, once it stands, is not shortened. In a FIFO group messages succeed in the order in which
///           they were sent, one at a time. After a drain nothing is hidden that the report does not own up to.
///           What a process has received it either settles or asks to keep, as long as it lives. No failure is retried,
///           and no message released, in a hot loop.
/// Threads   one.
class witness {
public:
    struct limits {
        tick::duration slack{};        ///< how late a process may learn what the service has done
        std::size_t in_flight = 0;     ///< of one process
        bool ordered = false;          ///< a FIFO queue
        bool discards_damaged = false; ///< by policy, or because there is no poison queue to reject them to
    };

    witness(clock const& time, limits l);
    ~witness();

    std::vector<std::string> violations;
    bool keeps_trace = false;
    std::vector<std::string> trace;

    void note(std::string what);     ///< into the trace
    void complain(std::string what); ///< a broken promise

    void sent(int number, std::string group);

    /// What the service does for that process.
    service_observer& service_for(int process);

    // What happens in a process.
    void started(int process, int number);
    /// `delay`: of the retry that the handler asked for, zero when it left that to a policy.
    void ended(int process, int number, verdict, std::chrono::milliseconds delay, bool obeys_cancellation);
    void holds(int process, std::size_t in_flight);
    void logged(int process, std::string_view text);
    void sleeps(int process);
    void woke(int process); ///< from a pause, in which leases ran out unnoticed
    void killed(int process);
    /// `undisturbed`: no fault and no pause since the drain began.
    void drained(int process, drain_report const&, std::chrono::milliseconds limit, bool undisturbed);

    /// The end. `dead`: the numbers in the dead-letter queue.
    void finished(bool queue_is_empty, std::set<int> const& dead);

private:
    class view;

    /// One message as one process has it.
    struct share {
        tick until{};                      // hidden, as the service sees it
        tick known_since{}, known_until{}; // hidden, as far as the process can know
        tick named{};                      // by a request that left the process
        std::string handle;                // the newest
        bool delivered = false;            // its answer has arrived
        bool of_unknown_age = false;       // nobody in the process can know how old its lease is
        int running = 0;
        bool handled = false; // with success, in time
        bool discarded = false;
        bool failed = false; // its last run; to be tried again, but not before
        tick not_before{};
        bool postponed = false; // at the service, for that long at least
        bool let_go = false;    // given back, deleted, or no longer known to the service, which has said so
    };
    /// How often something happens within a second.
    class pace {
    public:
        bool exceeds(int most, tick now) ///< true once
        {
            if (now >= second_ + std::chrono::seconds(1)) {
                second_ = now;
                count_ = 0;
            }
            return ++count_ == most + 1;
        }
        void reset() { count_ = 0; }

    private:
        tick second_{};
        int count_ = 0;
    };
    struct message {
        std::string group;
        bool succeeded = false, deleted = false;
        pace receives, requests;
        bool handed_off = false;     // to the poison queue
        bool discarded = false;      // by policy
        std::map<int, share> shares; // by process
    };

    void released(int number); // by time, or by whoever had it: it is received again
    share* share_of(int process, std::string const& handle, int& number);

    clock const& time_;
    limits limits_;
    std::map<int, message> messages_;
    std::unordered_map<std::string, int> numbers_;        // receipt handle -> message
    std::map<std::string, int> last_success_;             // group -> number
    std::map<std::pair<int, std::string>, int> in_group_; // process, group -> handlers running
    std::map<int, std::size_t> running_;                  // process -> handlers
    std::map<int, tick> woke_at_;
    std::set<int> asleep_, ended_, left_nothing_open_; // processes
    std::map<int, pace> log_lines_, failed_receives_;
    std::map<int, std::unique_ptr<view>> views_;
};

} // namespace quern::sim
