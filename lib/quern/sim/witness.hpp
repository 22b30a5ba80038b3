#pragma once

#include <quern/consumer/drain_report.hpp>
#include <quern/consumer/limits.hpp>
#include <quern/core/clock.hpp>
#include <quern/sim/network.hpp>
#include <quern/sim/speed_book.hpp>
#include <quern/sim/verdict.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quern::sim {

namespace detail {
class limit_book;
}

/// Keeps the books of a simulated queue and names every promise that is broken; docs/design/promises.md lists them.
/// A message is known by its number; what happens to it at the service and what processes can know of that are kept
/// apart.
///
/// Slack     none is granted by the clock. A lease ends, for a process, when it can end at the latest as far as
///           anybody there can know: counted from the arrival of the answer that brought the message, though not from
///           later than the receive may have waited, and after an extension from the sending of the request. A
///           process that stood still is judged by what it does from the moment on at which it wakes.
/// Threads   one.
class witness {
public:
    struct rules {
        consumer_limits limits;         ///< of one process, as limit_book has them; absent: any number
        bool ordered = false;           ///< a FIFO queue
        bool batches = false;           ///< several of a group may run at once, in one place
        bool keeps_rejected = false;    ///< there is a poison queue, or a dead-letter queue; else it is deleted
        int max_receives = 0;           ///< then the dead-letter queue takes it; 0: never
        int most_dead = -1;             ///< in the dead-letter queue; -1: any number
        verdict damaged;                ///< of a message that arrives so
        bool acks_unseen = false;       ///< a handler may await its delete, and does not say so: see acks()
        std::chrono::seconds lease{30}; ///< as long as a receive or an extension makes it
        bool looks_ahead = false;       ///< leases of what waits are as long as put-offs
        std::chrono::milliseconds handler_timeout{0}; ///< one that runs a lease longer may lose it; 0: none
        bool age_counts = false;                      ///< nothing else is a reason to reject what has only failed
        std::function<int(int number)> tenant = [](int) { return 0; };
        std::vector<speed_promise> speeds;
        std::set<int> poisoned;                  ///< end in the dead-letter queue, received for the last time
        std::chrono::milliseconds dead_within{}; ///< so long after the first at most
    };

    witness(clock const& time, rules r);

    /// The rules for that process, in what is a matter of its settings.
    void obeys(int process, rules r) { own_.insert_or_assign(process, std::move(r)); }
    ~witness();

    std::vector<std::string> violations, warnings;
    bool keeps_trace = false;
    std::vector<std::string> trace;
    std::map<int, tick> handled; ///< when each message was, for the first time and under its lease

    void note(std::string what);     ///< into the trace
    void complain(std::string what); ///< a broken promise
    void warn(std::string what);     ///< once of each

    /// Throws std::invalid_argument when another message has that body.
    /// `came_back`: it was rejected once, and has the attributes of that; see earlier_life().
    void sent(int number, std::string group, std::string const& body, bool came_back = false);
    int number_of(std::string_view body) const;

    /// The observer of what the service does for that process. `in_flight`: what it holds, whenever it is asked.
    service_observer& service_for(int process, std::function<std::size_t()> in_flight = {});

    // What happens in a process.
    void started(int process, int number);
    void acks(int process, int number);  ///< a handler that goes on asks for its delete
    void acked(int process, int number); ///< and is told that it is done
    void guarded(int process, int number, tick began_at, guard_news, tick reach); ///< agrees: as far as that
    void ended(int process, int number, verdict const&, bool obeys_cancellation);
    void holds(int process, std::size_t in_flight);
    void turned(int process, consumer_limits const&); ///< it is told to obey these from now on
    void logged(int process, std::string_view text);
    void sleeps(int process);
    void rests(int process, bool on); ///< its user has paused its consumer: what waits there goes back
    void woke(int process);           ///< from a pause, in which leases ran out unnoticed
    void killed(int process);
    void stops(int process, std::chrono::milliseconds limit); ///< it is told to, first time only
    void hears(int process);                                  ///< of that, having its turn
    /// `undisturbed`: no fault and no pause could make it strand anything.
    void drained(int process, drain_report const&, bool undisturbed);

    /// The end. `dead`: the numbers in the dead-letter queue.
    void finished(bool queue_is_empty, std::set<int> const& dead);

private:
    class view;

    static std::string name(int process, int number); // "process 1, message 17"
    static std::string in_seconds(tick::duration);

    /// One message as one process has it.
    struct share {
        std::string taken, attempt; ///< by a receive, at the service: its handle, its attempt id
        tick lost_at = tick::max(); ///< that receive's answer, and nobody has asked again since
        std::string handle;         ///< the newest that has arrived
        int receive = 0;            ///< its receive count
        tick arrived_at{};
        tick since{}, until{};      ///< hidden, as far as the process can know
        tick covered = tick::max(); ///< no further, while it runs: its guard has agreed to no more
        tick named{};               ///< by a change of visibility that left the process
        int running = 0;
        tick began_at{};       ///< its last run
        bool lapsed = false;   ///< the lease, while it ran: what the handler says no longer counts
        tick ended_at{};       ///< its last run, of which:
        bool settling = false; ///< it ended in time, and so may be settled, whenever answers come
        bool accepted = false; ///< it has asked for its delete
        int asked_as = 0;      ///< that, at which receive count
        bool gone = false;     ///< and has got it
        bool handled = false;  ///< with success, in time
        bool late = false; ///< that, by a process that had slept beyond its lease, and may have given it up as well
        bool rejectable = false;        ///< may go to the poison queue
        int rejected_as = 1;            ///< that, at which receive count
        bool unexplained = false;       ///< and its handler has not said why
        tick unwanted_at = tick::max(); ///< its copy was refused there, which no try will mend
        bool discarded = false;         ///< may be deleted
        bool failed = false;            ///< and is to be tried again, but not before:
        tick not_before{};
        bool postponed = false; ///< at the service, for that long at least
        bool adopted = false;   ///< it came again while it may have been held
        bool let_go = false;    ///< given back, deleted, or no longer known to the service, which has said so
        bool anew = false;      ///< it came again after that, or its lease: nothing is said of this receive yet
        bool doubtful =
            false; ///< it woke after the lease's end, to an answer that had extended it, or somebody else's
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
        std::size_t bytes = 0;     // of its body
        bool came_back = false;    // from a poison queue, before the day
        std::string id, queue_url; // as it was received
        std::string handle;        // the newest of all
        int receives = 0;
        tick first_received_at{}, last_received_at{};
        tick until{};             // hidden, at the service
        bool succeeded = false;   // in time, as far as its process could know
        bool in_turn = false;     // and while the service still hid it
        bool was_deleted = false; // once
        bool deleted = false;     // and not received again since
        bool handed_off = false;  // to the poison queue
        bool discarded = false;   // by policy
        pace received, requests;
        std::map<int, share> shares; // by process
    };
    struct receipt {
        int number, receive;
    };
    struct stop {
        tick by;
        std::chrono::milliseconds limit;
        std::optional<tick> heard_at; // the process may have stood still before it had its turn
    };

    void received_again(int number); // by time, or by whoever had it
    void ran_out(int number, int process, share&);
    void take_turn(int process, int number);
    void check_turn(int process, int number);
    bool is_settled(message const&, int process) const;
    bool is_stopping(int process) const;
    bool is_awake(int process, tick since) const;
    bool wakes(int process) const;
    rules const& of(int process) const;
    detail::limit_book& limits_of(int process);
    std::size_t places_of(int process, std::size_t in_flight, std::size_t most) const;
    void complain_of(int process, std::string const& what); ///< nothing where that is empty

    clock const& time_;
    rules rules_;
    std::map<int, rules> own_; // process -> its own
    speed_book speeds_;
    std::map<int, message> messages_;
    std::map<std::string, int, std::less<>> numbers_;     // body -> message
    std::unordered_map<std::string, receipt> receipts_;   // receipt handle -> receive
    std::map<std::string, int> attempts_;                 // attempt id -> requests
    std::map<std::string, std::set<int>> taken_by_;       // attempt id -> messages
    std::map<std::string, std::vector<int>> in_order_;    // group -> messages as they were sent
    std::map<std::string, int> last_success_;             // group -> number
    std::map<std::pair<int, std::string>, int> in_group_; // process, group -> handlers running
    std::map<int, std::size_t> running_, bytes_;          // process -> handlers, bytes that they work on
    std::map<int, tick> slept_at_, woke_at_, last_end_;   // the latter: of a handler
    std::map<int, stop> stops_;
    std::set<int> asleep_, resting_, ended_, left_nothing_open_; // processes
    std::map<int, pace> log_lines_, failed_receives_;
    std::map<int, std::unique_ptr<view>> views_;
    std::map<int, std::unique_ptr<detail::limit_book>> limits_;
    std::map<int, std::function<std::size_t()>> in_flight_;
};

} // namespace quern::sim
