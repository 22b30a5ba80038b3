#pragma once

#include <quern/consumer/detail/message/dependency.hpp>
#include <quern/consumer/detail/message/ledger.hpp>
#include <quern/consumer/options.hpp>

#include <cstddef>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace quern::detail {

/// The rule of bad times: how many messages may be worked on while what their handlers depend on is down, or the user
/// has paused, and what becomes of those that are here already.
///
/// Each dependency has a breaker of its own. While one is down its messages go back without being run, for longer the
/// longer it lasts, and those of the others are none the wiser; when all are down receives stop. Two kinds of
/// messages wait here instead, their leases extended: one to probe with, so that probing costs no receive, and every
/// message on its last receive before the dead-letter queue, which an outage must not fill. They take a quarter of
/// the places at most, and a message that has found it down lets others go first: none may hold up the rest, and old
/// messages that always find it down must not hide from the probes that the others would find it up. While it is in
/// doubt whether a dependency is down, a message on its last receive that found it so is tried here once more; while
/// it recovers, each time.
class outage {
public:
    /// News about a dependency in a handler's end.
    enum class sign { none, good, bad, down };
    struct news {
        sign what = sign::none;
        std::optional<std::string> about; ///< absent: the message's own dependency
    };

    /// Reasons of the message itself say nothing.
    static news news_of(outcome const&);

    /// Requires  options.validate() found nothing. Without options.breaker only pausing is left.
    outage(consumer_options const& options, std::uint64_t seed);
    ~outage();

    void pause(std::string why);
    void resume() { paused_ = false; }

    /// Somebody who knows: all dependencies are down, or no longer.
    void report(bool down, tick now)
    {
        reported_ = down;
        force_open(now);
    }

    /// A flag from outside, which says the same; or nothing yet, which stops the work without being news of anything.
    /// Without options.breaker both are like a pause.
    enum class flag { lowered, raised, unread };
    void set_flag(flag is, tick now)
    {
        flag_ = is;
        worsened_ = worsened_ || stopped();
        force_open(now);
    }
    void set_max_receives(int n) { max_receives_ = n; } ///< of the queue's redrive policy
    void set_max_in_flight(std::size_t n);              ///< slow start goes no further

    /// Given back, it would go to the dead-letter queue.
    bool is_last_receive(held const& h) const { return max_receives_ != 0 && h.receive_count >= max_receives_; }

    bool paused() const { return paused_; }
    bool stopped() const { return paused_ || flag_ == flag::unread || (flag_ == flag::raised && !has_breaker_); }

    /// Says on what the message depends: before any of the following.
    void belongs(held&, std::string_view name);

    /// Its handler may start now.
    bool admits(held const&, tick now);

    /// No handler of its kind may run; one that gathers with others for a call must not either.
    bool forbids(held const& h, tick now)
    {
        return stopped() || (h.depends_on && allowance(*h.depends_on, now) == 0);
    }

    /// Nor may one that was let in and waits for a thread, while it is not for a probe of now.
    bool revokes(held const& h, tick now)
    {
        if (forbids(h, now)) return true;
        return h.depends_on && h.depends_on->seen == dependency::phase::half_open &&
            h.ticket != h.depends_on->counted;
    }

    /// For the intake: of how many places, and how many of them are taken. `waiting`: in flight, and soon to start.
    struct places {
        std::size_t taken, all;
    };
    places room(std::size_t in_flight, std::size_t waiting, tick now);

    void started(held&, tick now);
    void ended(held&, news const&, tick now);

    /// When a message that goes back is visible again.
    struct way_back {
        std::chrono::milliseconds delay{};
        bool stood_back = false; ///< because of an outage or a pause; else it is as one that failed
        bool spilled = false;    ///< it was its last receive, and there is no place for it here
    };

    /// Way back of a message that may not run. Nothing: it waits here.
    std::optional<way_back> stand_back(held_ptr const&, tick now);

    /// Way back of a message whose handler has said so, after ended(). While that is the only news of its kind it is
    /// as one that failed.
    std::optional<way_back> found_down(held_ptr const&, news const&, tick now);

    /// Next message that waited here and may run now; null: none. The caller starts each, or stops asking.
    held_ptr next_kept(tick now);
    std::vector<held_ptr> take_kept(); ///< all, to be given back
    bool lets_go(tick now);            ///< one of them may run

    age_book const& ages_of_gone() const { return known_.ages_of_gone(); }

    /// To be called for each that is up again, with its ages: one that was forgotten meanwhile counts for all
    /// messages.
    void keep_ages(dependency const& d) { known_.keep_ages(d); }

    /// All is well, as far as anybody knows.
    bool good_times() const { return !stopped() && !forced_ && watched_.empty(); }

    /// Its dependency is not up: whoever may run runs at once.
    bool hurries(held const& h) const { return h.depends_on && h.depends_on->seen != dependency::phase::closed; }

    /// Fewer may run than when this was asked last.
    bool worsened() { return std::exchange(worsened_, false); }

    /// Change since this was asked last, for the log.
    struct event {
        dependency_ptr of;
        dependency::phase from, to;
    };
    std::vector<event> take_events() { return std::exchange(events_, {}); }

    std::optional<tick> wake_at(tick now) const;

    /// No message may be received.
    bool halts(tick now);

    /// Tells which dependencies are down and why; empty in good times.
    std::string explain(tick now) const;

private:
    using phase = dependency::phase;

    void force_open(tick now);
    std::size_t allowance(dependency&, tick now);
    std::optional<tick> gives_up_probes_at(dependency const&) const;
    static tick rests_until(dependency const&, held const&);
    static bool seeks_no_other(dependency const&, tick now);
    static tick next_turn(dependency&, tick now);
    static std::size_t runnable(dependency&, std::size_t most, tick now);
    bool can_run(dependency&, tick now) const;
    /// Notes what has become of it, whether by time or by news.
    void look_at(dependency& d, tick now)
    {
        if (!d.is_up()) look_closer(d, now); // else time alone changes nothing
    }
    void look_closer(dependency&, tick now);
    void look_at_all(tick now);
    bool forgets(dependency_ptr const&, tick now);
    static bool takes_its_doubt(held&);
    std::optional<way_back> place(held_ptr const&, bool probed, tick now);
    void keep(held_ptr const&, std::deque<held_ptr> dependency::*line);
    std::size_t places_to_wait() const;
    void let_others_go_first(dependency&, tick now);
    std::chrono::milliseconds put_off(dependency const*, tick now);
    std::chrono::milliseconds rest();
    std::size_t kept(tick now);

    bool const has_breaker_;
    std::chrono::milliseconds const longest_probe_; // 0: as long as it takes, within reason
    std::size_t max_in_flight_ = 0;
    policy::backoff const backoff_;
    std::mt19937_64 random_;
    dependency_table known_;
    dependency_ptr only_;                 // of all messages, where these have no names
    std::vector<dependency_ptr> watched_; // not closed, or messages wait for it
    std::vector<event> events_;
    tick tidied_at_{};
    int max_receives_ = 0; // 0: none, or not known
    bool forced_ = false;  // by one of the two
    bool reported_ = false;
    flag flag_ = flag::lowered;
    bool paused_ = false;
    bool worsened_ = false;
    std::string why_paused_; // for a human; may be empty
};

/// "payments: open for 5 s more: 3 calls in a row found the dependency unavailable"
std::string to_string(outage::event const&, tick now);

} // namespace quern::detail
