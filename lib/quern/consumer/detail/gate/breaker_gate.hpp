#pragma once

#include <quern/consumer/detail/gate/remembered.hpp>
#include <quern/consumer/detail/gate/waiting_room.hpp>
#include <quern/consumer/gate.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace quern::detail {

/// The gate with breakers: one for everything, and one for each key.
///
/// The one for everything hears of every message; what fails because its key is ill counts once a key, for one key
/// says nothing about the others; all that are known ill do. While it suspects an outage, fewer messages are received
/// and begin. A key's own lets fewer of its messages begin, and the rest pass.
///
/// A message that finds its dependency down while an outage is suspected, or may not begin, waits here as long as
/// there are places, for going back costs a receive; the one with the most receives left gives way. A message on its
/// last receive that finds its dependency down waits here if the last three messages of its key did, too; else once
/// in each outage, since it may be the first.
class breaker_gate final : public gate {
public:
    breaker_gate(policy::breaker_options options, std::size_t most_keys, std::uint64_t seed, tick now);

    std::size_t room(tick now) override;
    std::optional<double> rate(tick now) override { return whole_.limit(now); }
    bool prefers_fresh() override { return whole_.state() == phase::half_open && begun_ % turns_of_known != 0; }
    answer ask(subject const&, tick now) override;
    void started(subject const&, tick now) override;
    answer ended(subject const&, news const&, tick now) override;
    std::optional<leave> due(bool may_begin, tick now) override;
    std::optional<tick> wake_at(tick now) override;
    void stop(bool set, tick now) override;
    void probe(tick now) override;
    void set_places(std::size_t n) override { waits_.set_places(n); }
    std::string explain(tick now) override;
    std::vector<change> take_changes() override { return std::exchange(changes_, {}); }

private:
    using phase = policy::breaker::phase;
    using failing = policy::breaker::failing;
    struct tally {
        int down = 0;              // messages in a row
        std::uint64_t outages = 0; // such rows, of three or more, that a success ended
    };
    struct entry {
        std::string name;
        policy::breaker its;
        tally said{};
        std::uint64_t counted = 0; // in that run of failures of all
        tick used_at{};
        bool was_well = false; // once
    };
    using line = std::list<entry>;

    entry* find(std::string_view key, tick now); ///< null: it has no name
    answer keep(subject const&, entry*, tick due, tick now);
    std::chrono::milliseconds put_off(int receives_left, entry*, tick now);
    tick after_a_rest(tick now);
    std::optional<tick> next_receive(tick now) const;
    bool counts_once(entry*);
    bool all_keys_are_ill(tick now) const;
    bool is_crammed(tick now) const;
    void succeeded(subject const&, entry*, tick now);
    template <class Event>
    void tell(policy::breaker&, std::string const& name, tick now, Event event);

    /// One turn of so many in an outage is for what waits here: if each message fails once, fresh ones never tell.
    static constexpr std::uint64_t turns_of_known = 30;

    policy::breaker_options const options_;
    std::size_t const most_keys_;
    std::mt19937_64 random_;
    policy::breaker whole_;
    line by_use_; // the latest first
    std::unordered_map<std::string_view, line::iterator> keys_;
    tally nameless_;               // of messages without a key
    std::uint64_t run_number_ = 1; // of the run of failures, whatever their keys
    remembered failed_;            // and have not succeeded since: their next failure is no news
    remembered doubtful_; // on their last receive, tried here once more in this outage before others say it is one
    waiting_room waits_;
    std::deque<waiting_room::guest> leaving_; // they gave way
    tick received_at_{};                      // the last one
    tick full_of_last_chances_at_{}; // of such as may not go back; those being tried come back within a minute
    tick hurried_at_{};
    std::uint64_t begun_ = 0;
    bool stopped_ = false;
    std::vector<change> changes_;
};

} // namespace quern::detail
