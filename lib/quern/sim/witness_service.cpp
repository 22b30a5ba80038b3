#include <quern/consumer/detail/lease_book.hpp>
#include <quern/sim/detail/earlier_life.hpp>
#include <quern/sim/detail/limit_book.hpp>
#include <quern/sim/witness.hpp>

#include <algorithm>

namespace quern::sim {

using namespace std::chrono_literals;
using quern::detail::lease_book;

namespace {

// In a second.
constexpr int most_requests = 20;        // about one message: settled, and tried again a few times
constexpr int most_receives = 15;        // of one message: some tries release it at once, and there are duplicates
constexpr int most_failed_receives = 25; // one of each poll, and then of one that pauses
constexpr int receive_attempts = 3;      // under one attempt id, as docs/design/consumer.md has it

bool succeeded(auto const& done, std::string const& id)
{
    return std::ranges::any_of(done.successful, [&](auto const& ok) { return ok.id == id; });
}

bool expired(auto const& done, std::string const& id)
{
    return std::ranges::any_of(done.failed, [&](auto const& f) { return f.id == id && f.sender_fault; });
}

constexpr auto has_no_handle = [](sqs::damaged_message const& one) { return one.known.receipt_handle.empty(); };

} // namespace

class witness::view final : public service_observer {
public:
    view(witness& w, int process) : w_(w), process_(process) {}

    // ---- at the service

    void received(sqs::receive_message_request const& asked, sqs::receive_message_response const& got) override
    {
        for (auto const& one : got.messages) {
            auto const number = w_.number_of(one.body);
            w_.received_again(number);
            if (w_.left_nothing_open_.contains(process_)) {
                w_.complain(name(process_, number) + ": taken by a receive of a process that has ended clean");
            }
            auto& m = w_.messages_.at(number);
            m.handle = one.receipt_handle;
            m.id = one.id;
            m.queue_url = asked.queue_url;
            m.receives = one.receive_count();
            m.last_received_at = now();
            if (m.receives == 1) m.first_received_at = now();
            m.until = now() + asked.visibility_timeout.value_or(30s);
            m.deleted = false;
            auto& mine = m.shares[process_];
            mine.taken = m.handle;
            mine.attempt = asked.attempt_id.value_or("");
            if (asked.attempt_id) w_.taken_by_[mine.attempt].insert(number);
            mine.lost_at = tick::max();
            w_.receipts_[m.handle] = {number, m.receives};
            w_.note(name(process_, number) + ": received, receive " + std::to_string(m.receives));
        }
    }

    void deleted(
        sqs::delete_message_batch_request const& asked, sqs::delete_message_batch_response const& done) override
    {
        for (auto const& entry : asked.entries) {
            auto const [m, mine, number] = find(entry.receipt_handle);
            if (!mine) continue;
            auto const ok = succeeded(done, entry.id);
            w_.note(name(process_, number) + (ok ? ": deleted" : ": delete refused"));
            if (ok && m->handle == entry.receipt_handle)
                m->deleted = m->was_deleted = true; // an older one deletes nothing
            if (mine->handle != entry.receipt_handle) continue;
            if (ok || expired(done, entry.id)) mine->let_go = true;
            if (ok && w_.rules_.acks_unseen && mine->accepted) mine->gone = true;
            auto const thrown_away = mine->discarded || (mine->rejectable && !w_.of(process_).keeps_rejected);
            auto const allowed =
                mine->handled || mine->accepted || thrown_away || (mine->rejectable && m->handed_off);
            auto const what = ": deleted without success under its lease" + not_its_age(*mine);
            if (!allowed) w_.complain(name(process_, number) + what);
            if (m->deleted && thrown_away) m->discarded = true;
        }
    }

    void changed(sqs::change_message_visibility_batch_request const& asked,
        sqs::change_message_visibility_batch_response const& done, tick sent_at) override
    {
        for (auto const& entry : asked.entries) {
            auto const [m, mine, number] = find(entry.receipt_handle);
            if (!mine) continue;
            auto const current = mine->handle == entry.receipt_handle;
            if (current && expired(done, entry.id)) mine->let_go = true;
            if (!succeeded(done, entry.id)) continue;
            m->until = now() + entry.visibility_timeout; // an older handle works as long as the message is hidden
            w_.note(name(process_, number) + ": hidden for " + in_seconds(entry.visibility_timeout));
            if (!current || m->handle != mine->handle) continue;
            if (entry.visibility_timeout == 0s) mine->let_go = true;
            if (mine->failed)
                check_backoff(*m, *mine, number, entry.visibility_timeout, sent_at);
            else
                mine->postponed = mine->postponed || is_put_off(*mine, entry.visibility_timeout, sent_at);
        }
    }

    void sent(sqs::send_message_batch_request const& asked, sqs::send_message_batch_response const& done) override
    {
        for (auto const& entry : asked.entries) {
            auto const number = w_.number_of(entry.body);
            if (!succeeded(done, entry.id)) continue;
            auto& m = w_.messages_.at(number);
            m.handed_off = true;
            auto const& mine = m.shares[process_];
            w_.note(name(process_, number) + ": handed off");
            auto const untold = detail::untold_by(
                entry, {number, m.id, m.queue_url, mine.rejected_as, mine.receive, !mine.unexplained, m.came_back});
            auto const who = name(process_, number);
            if (!untold.empty()) w_.complain(who + ": its copy does not tell " + untold);
            if (mine.rejectable) continue;
            w_.complain(who + ": handed off, and nobody has rejected it" + not_its_age(mine));
        }
    }

    void copies_refused(sqs::send_message_batch_request const& asked) override
    {
        for (auto const& entry : asked.entries)
            w_.messages_.at(w_.number_of(entry.body)).shares[process_].unwanted_at = now();
    }

    // ---- in the process

    void asks(sqs::receive_message_request const& asked) override
    {
        auto& limits = w_.limits_of(process_);
        auto const held = w_.bytes_[process_], limit = limits.bytes(now()).value_or(held + 1);
        auto const repeated = asked.attempt_id && w_.attempts_.contains(*asked.attempt_id);
        if (held >= limit && !repeated)
            w_.complain_of(process_, "asks for more while its handlers hold " + std::to_string(held) + " bytes");
        std::optional<std::size_t> in_flight;
        if (auto const& ask = w_.in_flight_[process_])
            in_flight = w_.places_of(process_, ask(), limits.places_beside(most_of(asked)));
        w_.complain_of(process_, limits.asks(most_of(asked), in_flight, repeated, now()));
        if (!asked.attempt_id) return;
        if (++w_.attempts_[*asked.attempt_id] > 1)
            w_.note("process " + std::to_string(process_) + ": a receive is asked for again");
        of_attempt(*asked.attempt_id, [](share& mine) { mine.lost_at = tick::max(); });
    }

    void names(std::string_view operation, std::string const& handle) override
    {
        auto const [m, mine, number] = find(handle);
        if (!mine) return;
        if (m->requests.exceeds(most_requests, now())) {
            w_.complain(
                name(process_, number) + ": more than " + std::to_string(most_requests) + " requests in a second");
        }
        if (mine->handle == handle) {
            auto const unseen = w_.rules_.acks_unseen && mine->running != 0 && !mine->accepted;
            if (unseen && operation.starts_with("Delete")) w_.acks(process_, number);
            if (!operation.starts_with("Change")) return;
            mine->named = now();
            if (now() > mine->until && w_.is_awake(process_, mine->since))
                w_.complain(name(process_, number) + ": hidden or shown by a process whose lease is over");
        } else if (w_.receipts_.at(handle).receive < mine->receive && holds(*m, *mine)) {
            w_.complain(name(process_, number) + ": named by an old receipt handle");
        }
    }

    void delivered(
        sqs::receive_message_request const& asked, sqs::receive_message_response const& got, tick sent_at) override
    {
        w_.limits_of(process_).answered(most_of(asked));
        if (got.messages.empty() && !got.damaged.empty() && std::ranges::all_of(got.damaged, has_no_handle))
            return asked_in_vain();
        w_.failed_receives_[process_].reset();
        auto const since = std::min(now(), sent_at + asked.wait_time.value_or(20s));
        auto const until = since + asked.visibility_timeout.value_or(30s);
        auto const arrived = [&](sqs::message const& one) -> share* {
            auto const [number, receive] = w_.receipts_.at(std::string(one.receipt_handle));
            auto& mine = w_.messages_.at(number).shares[process_];
            w_.note(name(process_, number) + ": arrives, receive " + std::to_string(receive));
            auto const held = mine.running != 0 || (!mine.let_go && !mine.postponed && now() < mine.until);
            if (receive < mine.receive && held) return nullptr; // overtaken by the answer to a later receive
            mine.settling = mine.settling && held;              // else that was for an earlier receive
            mine.adopted = mine.receive != 0 && !mine.let_go && !mine.postponed;
            mine.anew = mine.let_go || now() >= mine.until;
            mine.lapsed = mine.lapsed || (mine.running != 0 && now() >= mine.until);
            mine.handle = one.receipt_handle;
            mine.receive = receive;
            mine.arrived_at = now();
            mine.since = since;
            mine.until = mine.running != 0 ? std::min(until, mine.covered) : until;
            mine.failed = mine.postponed = mine.let_go = mine.doubtful = false;
            mine.unwanted_at = tick::max();
            return &mine;
        };
        std::ranges::for_each(got.messages, arrived);
        for (auto const& bad : got.damaged) {
            auto* const mine = has_no_handle(bad) ? nullptr : arrived(bad.known);
            if (!mine || mine->running != 0) continue;
            auto const& means = w_.of(process_).damaged;
            mine->failed = means.how == verdict::kind::failed;
            mine->rejected_as = mine->rejectable ? std::min(mine->rejected_as, mine->receive) : mine->receive;
            mine->rejectable = mine->rejectable || means.rejectable();
            mine->discarded = mine->discarded || means.how == verdict::kind::discarded;
            mine->not_before = mine->ended_at = now();
            mine->settling = true;
        }
    }

    void confirmed(sqs::change_message_visibility_batch_request const& asked,
        sqs::change_message_visibility_batch_response const& done, tick sent_at) override
    {
        for (auto const& entry : asked.entries) {
            auto const [m, mine, number] = find(entry.receipt_handle);
            if (!mine || mine->handle != entry.receipt_handle || sent_at >= mine->until) continue; // too late
            auto const late = now() >= mine->until && !w_.wakes(process_);
            if (late && mine->running != 0 && now() > mine->until) continue; // it had to end
            mine->let_go = mine->let_go || (late && !mine->settling); // it had to give up, and may now give it back
            auto const its_delete_decides = mine->accepted && mine->running != 0; // it may have been carried out
            if (expired(done, entry.id) && !its_delete_decides) mine->until = now();
            if (!succeeded(done, entry.id)) continue;
            auto const unread =
                w_.wakes(process_) && mine->ended_at >= w_.slept_at_[process_]; // what its handler said
            auto const ran = mine->running != 0 || mine->ended_at == now() || unread;
            mine->doubtful =
                ran && now() >= mine->until; // it may have cancelled its handler already, and must not count it
            mine->since = sent_at;
            mine->until = sent_at + entry.visibility_timeout;
            if (mine->running != 0) mine->until = std::min(mine->until, mine->covered);
        }
    }

    void receive_failed(sqs::receive_message_request const& asked, failure const& why) override
    {
        w_.note("process " + std::to_string(process_) + ": a receive fails: " + why.message);
        w_.limits_of(process_).answered(most_of(asked));
        if (asked.attempt_id) of_attempt(*asked.attempt_id, [at = now()](share& mine) { mine.lost_at = at; });
        asked_in_vain();
    }

    void received_for_nobody(sqs::receive_message_response const& got) override
    {
        if (w_.ended_.contains(process_)) return;
        for (auto const& one : got.messages) {
            w_.complain(name(process_, w_.number_of(one.body)) +
                ": hidden by a receive that was given up; promised: nobody gives one up whose answer may still come");
        }
    }

private:
    struct found {
        message* of = nullptr;
        share* mine = nullptr;
        int number = 0;
    };

    tick now() const { return w_.time_.now(); }

    static std::size_t most_of(sqs::receive_message_request const& asked)
    {
        return static_cast<std::size_t>(asked.max_messages);
    }

    /// By a receive that failed, or whose messages nobody can settle.
    void asked_in_vain()
    {
        if (!w_.failed_receives_[process_].exceeds(most_failed_receives, now())) return;
        w_.complain("process " + std::to_string(process_) + " receives in a hot loop");
    }

    /// Returns whether it is here. Once it has left, an older answer may bring it back, and nobody can know that it
    /// is old.
    bool holds(message const& m, share const& mine) const
    {
        return m.handle == mine.handle && !m.deleted && !mine.let_go && !mine.postponed && now() < mine.until;
    }

    found find(std::string const& handle)
    {
        auto const at = w_.receipts_.find(handle);
        if (at == w_.receipts_.end()) return {};
        auto& m = w_.messages_.at(at->second.number);
        return {&m, &m.shares[process_], at->second.number};
    }

    template <class Do>
    void of_attempt(std::string const& id, Do act)
    {
        auto const taken = w_.taken_by_.find(id);
        if (taken == w_.taken_by_.end()) return;
        for (auto const number : taken->second) {
            auto& mine = w_.messages_.at(number).shares[process_];
            if (mine.attempt == id && mine.taken != mine.handle) act(mine);
        }
    }

    std::string not_its_age(share const& mine) const
    {
        if (!w_.rules_.age_counts || !mine.failed) return {};
        return ": it had failed, and is not older than max_age, less the time of outages and pauses";
    }

    /// It goes back because of bad times, because the poison queue does not take it, or because its handler had said
    /// so in the moment in which it came again. An extension, as long, comes late in a lease or tries one again.
    bool is_put_off(share const& mine, std::chrono::seconds timeout, tick sent_at) const
    {
        auto const is_done = mine.accepted || (mine.handled && !mine.late);
        if (mine.running != 0 || (is_done && !mine.anew)) return false;
        if (sent_at >= mine.unwanted_at || w_.resting_.contains(process_)) return true;
        auto const& its = w_.of(process_);
        auto const early = sent_at < mine.since + its.lease / 2 && !mine.adopted;
        auto const grown = std::min<tick::duration>(4 * (sent_at - mine.since), lease_book::longest_wait);
        auto const of_wait = timeout > its.lease && timeout + 2s >= grown && mine.began_at < mine.since;
        if (!early && of_wait && !its.looks_ahead && timeout <= grown + 2s) return false;
        auto const rejected = mine.rejectable && sent_at >= mine.ended_at && sent_at < mine.ended_at + 1s;
        return timeout != its.lease || early || rejected || mine.ended_at == mine.arrived_at;
    }

    /// Lets pass what left as the handler ended, if it may extend: by a lease, or by up to four times the time that
    /// it was here. On its last receive a message may wait here while an outage is suspected.
    void check_backoff(message const& m, share& mine, int number, std::chrono::seconds timeout, tick sent_at)
    {
        if (mine.running != 0) return;
        auto const is_kept = w_.rules_.max_receives != 0 && mine.receive >= w_.rules_.max_receives;
        auto const early = mine.not_before - m.until;
        auto const lease = w_.of(process_).lease;
        auto const extends = timeout == lease || (timeout > lease && timeout <= 4 * (sent_at - mine.since));
        auto const is_news = sent_at > mine.ended_at || !extends;
        if (early > 0s && mine.postponed)
            w_.complain(name(process_, number) + ": its backoff is shortened by " + in_seconds(early));
        else if (early > 0s && sent_at >= mine.ended_at && is_news && !is_kept)
            w_.complain(name(process_, number) + ": comes back " + in_seconds(early) + " before its backoff is over");
        mine.postponed = early <= 0s;
    }

    witness& w_;
    int process_;
};

witness::witness(clock const& time, rules r) : time_(time), rules_(std::move(r)), speeds_(rules_.speeds) {}
witness::~witness() = default;

witness::rules const& witness::of(int process) const
{
    auto const at = own_.find(process);
    return at == own_.end() ? rules_ : at->second;
}

service_observer& witness::service_for(int process, std::function<std::size_t()> in_flight)
{
    if (in_flight) in_flight_[process] = std::move(in_flight);
    auto& mine = views_[process];
    if (!mine) mine = std::make_unique<view>(*this, process);
    return *mine;
}

void witness::received_again(int number)
{
    auto& m = messages_.at(number);
    if (m.received.exceeds(most_receives, time_.now())) {
        complain("message " + std::to_string(number) + ": received more than " + std::to_string(most_receives) +
            " times within a second");
    }
    if (m.until > time_.now()) return; // a duplicate
    for (auto& [process, s] : m.shares) {
        if (s.handle == m.handle || s.taken == m.handle) ran_out(number, process, s);
    }
}

/// A lease has come to its end: what should that process have done about it?
void witness::ran_out(int number, int process, share& s)
{
    auto const& m = messages_.at(number);
    if (s.handle != m.handle) { // its answer has not arrived
        auto const is_late = s.lost_at == tick::max() || s.lost_at + 1s > m.until;
        if (s.attempt.empty() || is_late || !is_awake(process, s.lost_at)) return;
        if (attempts_[s.attempt] >= receive_attempts) return;
        return complain(name(process, number) + ": nobody has asked again for what a lost answer held");
    }
    if (s.until == s.covered && s.named > s.began_at) return; // its guard was asked for more
    auto const& its = of(process);
    auto const lease = s.until - s.since;
    auto const hangs = its.handler_timeout.count() != 0 && s.began_at + its.handler_timeout + its.lease <= s.until;
    // Surplus may have gone back for as long as a lease.
    auto const back = s.postponed || s.let_go || (its.looks_ahead && lease == its.lease && s.began_at < s.since);
    if (back || hangs || !is_awake(process, s.since)) return;
    // The answer was late, or another who has it too has shortened its lease: there was little time to act.
    if (m.until + std::min<tick::duration>(lease, its.lease) / 6 < s.until) return;
    if (s.failed && s.named < s.ended_at && s.until - s.ended_at > lease / 3)
        complain(name(process, number) + ": has failed, and nobody has put it off");
    else if (s.named < s.since + lease / 4)
        complain(name(process, number) + ": its lease runs out, and nobody has asked for more");
}

} // namespace quern::sim
