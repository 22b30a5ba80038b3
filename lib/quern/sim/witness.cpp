#include <quern/sim/witness.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace quern::sim {

using namespace std::chrono_literals;

namespace {

// In a second.
constexpr int most_requests = 20;        // about one message: settled, and tried again a few times
constexpr int most_log_lines = 10;       // one a cause; there are no more causes than that
constexpr int most_receives = 15;        // of one message: some tries release it at once, and there are duplicates
constexpr int most_failed_receives = 25; // one of each poll, and then of one that pauses

std::string name(int process, int number)
{
    return "process " + std::to_string(process) + ", message " + std::to_string(number);
}

int number_in(std::string_view body)
{
    int out = -1;
    std::from_chars(body.data(), body.data() + body.size(), out);
    return out;
}

std::string seconds_of(tick::duration d)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.3f s", std::chrono::duration<double>(d).count());
    return text;
}

template <class Done>
bool succeeded(Done const& done, std::string const& id)
{
    return std::ranges::any_of(done.successful, [&](auto const& ok) { return ok.id == id; });
}

template <class Done>
bool expired(Done const& done, std::string const& id)
{
    return std::ranges::any_of(done.failed, [&](auto const& f) { return f.id == id && f.sender_fault; });
}

} // namespace

class witness::view final : public service_observer {
public:
    view(witness& w, int process) : w_(w), process_(process) {}

    void names(std::string const& handle) override
    {
        int number = 0;
        if (auto* const mine = w_.share_of(process_, handle, number)) mine->named = w_.time_.now();
        if (!w_.messages_.at(number).requests.exceeds(most_requests, w_.time_.now())) return;
        w_.complain(
            name(process_, number) + ": more than " + std::to_string(most_requests) + " requests in a second");
    }

    void receive_failed() override
    {
        if (!w_.failed_receives_[process_].exceeds(most_failed_receives, w_.time_.now())) return;
        w_.complain("process " + std::to_string(process_) + " receives in a hot loop");
    }

    void received(sqs::receive_message_request const& asked, sqs::receive_message_response const& got) override
    {
        for (auto const& m : got.messages) {
            auto const number = number_in(m.body);
            w_.released(number);
            if (w_.left_nothing_open_.contains(process_)) {
                w_.complain(name(process_, number) + ": taken by a receive of a process that has ended clean");
            }
            auto& mine = w_.messages_.at(number).shares[process_];
            mine.handle = m.receipt_handle;
            mine.known_since = w_.time_.now();
            mine.until = mine.known_until = w_.time_.now() + asked.visibility_timeout.value_or(30s);
            mine.delivered = mine.postponed = mine.failed = mine.let_go = false;
            w_.numbers_[mine.handle] = number;
            w_.note(name(process_, number) + ": received, receive " + std::to_string(m.receive_count()));
        }
    }

    void delivered(sqs::receive_message_response const& got) override
    {
        w_.failed_receives_[process_].reset();
        auto const now = w_.time_.now();
        auto const arrived = [&](sqs::message const& m) {
            int number = 0;
            auto* const mine = w_.share_of(process_, std::string(m.receipt_handle), number);
            if (!mine) { // overtaken by the answer to a later receive, whose message may have left already
                w_.messages_.at(number).shares[process_].of_unknown_age = true;
                return mine;
            }
            mine->delivered = true;
            mine->of_unknown_age = w_.woke_at_[process_] == now;
            return mine;
        };
        for (auto const& m : got.messages)
            arrived(m);
        for (auto const& bad : got.damaged) {
            auto* const mine = arrived(bad.known);
            if (!mine || mine->running != 0) continue;
            mine->failed = true;
            mine->not_before = now;
            if (w_.limits_.discards_damaged) {
                mine->discarded = w_.messages_.at(number_in(bad.known.body)).discarded = true;
            }
        }
    }

    void deleted(
        sqs::delete_message_batch_request const& asked, sqs::delete_message_batch_response const& done) override
    {
        for (auto const& entry : asked.entries) {
            int number = 0;
            auto* mine = w_.share_of(process_, entry.receipt_handle, number);
            if (!mine) continue; // an older handle deletes nothing
            if (succeeded(done, entry.id) || expired(done, entry.id)) mine->let_go = true;
            if (!mine->handled && !mine->discarded && !w_.messages_.at(number).handed_off)
                w_.complain(name(process_, number) + ": deleted without success under its lease");
            if (succeeded(done, entry.id)) w_.messages_.at(number).deleted = true;
            w_.note(name(process_, number) + (succeeded(done, entry.id) ? ": deleted" : ": delete refused"));
        }
    }

    void changed(sqs::change_message_visibility_batch_request const& asked,
        sqs::change_message_visibility_batch_response const& done) override
    {
        for (auto const& entry : asked.entries) {
            int number = 0;
            auto* mine = w_.share_of(process_, entry.receipt_handle, number);
            if (mine && expired(done, entry.id)) mine->let_go = true;
            if (!succeeded(done, entry.id)) continue;
            if (!mine) { // an older handle: the service says yes and does nothing
                w_.messages_.at(number).shares[process_].of_unknown_age = true;
                continue;
            }
            auto const until = w_.time_.now() + entry.visibility_timeout;
            if (mine->postponed && until < mine->not_before - 1s) {
                w_.complain(
                    name(process_, number) + ": its backoff is shortened by " + seconds_of(mine->not_before - until));
            }
            mine->until = until;
            if (until == w_.time_.now()) mine->let_go = true;
            mine->of_unknown_age = false;
            mine->postponed = mine->running == 0 && mine->failed && until >= mine->not_before;
            w_.note(name(process_, number) + ": hidden for " + seconds_of(entry.visibility_timeout));
        }
    }

    void confirmed(sqs::change_message_visibility_batch_request const& asked,
        sqs::change_message_visibility_batch_response const& done, tick sent_at) override
    {
        for (auto const& entry : asked.entries) {
            int number = 0;
            auto* const mine = w_.share_of(process_, entry.receipt_handle, number);
            if (!mine || !succeeded(done, entry.id) || w_.time_.now() >= mine->known_until) continue; // too late
            mine->known_since = sent_at;
            mine->known_until = sent_at + entry.visibility_timeout;
        }
    }

    void sent(sqs::send_message_batch_request const& asked, sqs::send_message_batch_response const& done) override
    {
        for (auto const& entry : asked.entries) {
            if (!succeeded(done, entry.id)) continue;
            auto const number = number_in(entry.body);
            w_.messages_.at(number).handed_off = true;
            w_.note(name(process_, number) + ": handed to the poison queue");
        }
    }

private:
    witness& w_;
    int process_;
};

witness::witness(clock const& time, limits l) : time_(time), limits_(l) {}
witness::~witness() = default;

service_observer& witness::service_for(int process)
{
    auto& mine = views_[process];
    if (!mine) mine = std::make_unique<view>(*this, process);
    return *mine;
}

/// Null unless that is the newest handle that this process has of the message.
witness::share* witness::share_of(int process, std::string const& handle, int& number)
{
    auto const at = numbers_.find(handle);
    if (at == numbers_.end()) return nullptr;
    number = at->second;
    auto& mine = messages_.at(number).shares[process];
    return mine.handle == handle ? &mine : nullptr;
}

void witness::note(std::string what)
{
    if (keeps_trace) trace.push_back(seconds_of(time_.now().time_since_epoch()) + "  " + std::move(what));
}

void witness::complain(std::string what)
{
    note("VIOLATION: " + what);
    violations.push_back("at " + seconds_of(time_.now().time_since_epoch()) + ": " + std::move(what));
}

void witness::sent(int number, std::string group)
{
    messages_[number].group = std::move(group);
    note("message " + std::to_string(number) + ": sent");
}

void witness::released(int number)
{
    auto& m = messages_.at(number);
    auto const now = time_.now();
    if (m.receives.exceeds(most_receives, now)) {
        complain("message " + std::to_string(number) + ": received more than " + std::to_string(most_receives) +
            " times within a second");
    }
    for (auto& [process, s] : m.shares) {
        if (!s.delivered || s.postponed || s.let_go || s.until > now) continue;
        if (ended_.contains(process) || asleep_.contains(process) || woke_at_[process] >= s.known_since) continue;
        auto const lease = s.known_until - s.known_since;
        if (limits_.slack > lease / 6 || s.named >= s.known_since + lease / 4) continue;
        complain(name(process, number) + ": its lease runs out, and nobody has asked for more");
        s.let_go = true;
    }
}

void witness::started(int process, int number)
{
    auto& m = messages_.at(number);
    auto& mine = m.shares[process];
    note(name(process, number) + ": handler starts");
    if (mine.running++ != 0) complain(name(process, number) + ": runs twice at once");
    if (limits_.ordered && in_group_[{process, m.group}]++ != 0) {
        complain(name(process, number) + ": runs beside another message of its group");
    }
    if (++running_[process] == limits_.in_flight + 1) {
        complain("process " + std::to_string(process) + " runs more than " + std::to_string(limits_.in_flight) +
            " handlers");
    }
    mine.not_before = {};
    mine.failed = false;
}

void witness::ended(int process, int number, verdict how, std::chrono::milliseconds delay, bool obeys_cancellation)
{
    auto& m = messages_.at(number);
    auto& mine = m.shares[process];
    auto const now = time_.now();
    --mine.running;
    --running_[process];
    --in_group_[{process, m.group}];
    static constexpr char const* words[] = {"succeeds", "fails", "is cancelled", "throws it away"};
    note(name(process, number) + ": handler " + words[static_cast<int>(how)]);

    auto const late = now - mine.until;
    auto const excused = !obeys_cancellation || mine.of_unknown_age || woke_at_[process] == now;
    if (late > limits_.slack && !excused) {
        complain(name(process, number) + ": its handler ran on for " + seconds_of(late) + " without a lease");
    }
    if (how == verdict::discarded) mine.discarded = m.discarded = true;
    mine.failed = how == verdict::failed || how == verdict::cancelled;
    if (mine.failed) mine.not_before = now + delay;
    if (how != verdict::succeeded || (late > limits_.slack && !mine.of_unknown_age)) return;

    mine.handled = true;
    if (limits_.ordered && !m.succeeded) {
        auto& last = last_success_.try_emplace(m.group, -1).first->second;
        if (number < last)
            complain(name(process, number) + ": succeeds after " + std::to_string(last) + " of its group");
        last = std::max(last, number);
    }
    m.succeeded = true;
}

void witness::holds(int process, std::size_t in_flight)
{
    if (in_flight <= limits_.in_flight) return;
    complain("process " + std::to_string(process) + " holds " + std::to_string(in_flight) + " messages, more than " +
        std::to_string(limits_.in_flight));
}

void witness::logged(int process, std::string_view text)
{
    note("process " + std::to_string(process) + " logs: " + std::string(text));
    if (!log_lines_[process].exceeds(most_log_lines, time_.now())) return;
    complain("process " + std::to_string(process) + " floods its log");
}

void witness::sleeps(int process)
{
    asleep_.insert(process);
    note("process " + std::to_string(process) + " stands still");
}

void witness::woke(int process)
{
    asleep_.erase(process);
    woke_at_[process] = time_.now();
    note("process " + std::to_string(process) + " wakes");
}

void witness::killed(int process)
{
    note("process " + std::to_string(process) + " is killed");
    for (auto& [number, m] : messages_)
        m.shares.erase(process);
    std::erase_if(in_group_, [&](auto const& g) { return g.first.first == process; });
}

void witness::drained(int process, drain_report const& said, std::chrono::milliseconds limit, bool undisturbed)
{
    auto const now = time_.now();
    ended_.insert(process);
    if (said.polls == 0) left_nothing_open_.insert(process);
    note("process " + std::to_string(process) + " has drained: " + to_json(said));
    std::size_t hidden = 0;
    for (auto const& [number, m] : messages_) {
        auto const at = m.shares.find(process);
        if (at == m.shares.end() || m.deleted) continue;
        auto const& mine = at->second;
        auto const known = std::min(mine.until, mine.known_until); // an extension's answer may have been lost
        if (mine.delivered && !mine.postponed && known > now + limits_.slack) {
            note(name(process, number) + ": left hidden for " + seconds_of(mine.until - now));
            ++hidden;
        }
    }
    auto const owned_up = said.stranded + said.running + said.at_risk + said.lost;
    auto const who = "process " + std::to_string(process);
    if (hidden > owned_up)
        complain(who + " leaves " + std::to_string(hidden) + " messages hidden and reports " + to_json(said));
    if (undisturbed && said.stranded != 0) complain(who + " strands messages without need: " + to_json(said));
    if (said.took > limit && woke_at_[process] + limit < now)
        complain(who + " drains for longer than it may: " + to_json(said));
}

void witness::finished(bool queue_is_empty, std::set<int> const& dead)
{
    if (!queue_is_empty) complain("the queue does not run empty");
    std::size_t lost = 0, first = 0;
    for (auto const& [number, m] : messages_) {
        if (m.succeeded || m.handed_off || m.discarded || dead.contains(number) || !queue_is_empty) continue;
        if (lost++ == 0) first = static_cast<std::size_t>(number);
    }
    if (lost != 0) complain(std::to_string(lost) + " messages are lost, the first is " + std::to_string(first));
}

} // namespace quern::sim
