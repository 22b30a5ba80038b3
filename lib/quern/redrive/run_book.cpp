#include <quern/redrive/run_book.hpp>

#include <quern/redrive/plan.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

namespace quern::redrive {
namespace {

failure cannot_follow(event const& e, std::string_view what)
{
    auto about = e.message.empty() ? std::string("the run") : "message " + e.message;
    return failure(errc::invalid_option,
        std::string(name_of(e.kind)) + " cannot follow: " + std::move(about) + " is " + std::string(what));
}

using E = event_kind;
using S = stage;
using P = run_book::phase;

/// An event may come after some states, and leads to one.
template <class State>
struct row {
    event_kind what;
    unsigned after;
    State next;
};

template <class... States>
constexpr unsigned any_of(States... some)
{
    return (0u | ... | (1u << static_cast<unsigned>(some)));
}

constexpr row<stage> message_rows[] = {
    {E::planned, any_of(S::unseen, S::planned, S::waiting, S::left), S::planned},
    {E::planned, any_of(S::unknown), S::unknown},
    {E::waiting, any_of(S::planned, S::waiting), S::waiting},
    {E::sending, any_of(S::planned, S::waiting, S::unknown), S::sending},
    {E::sent, any_of(S::sending), S::sent},
    {E::send_failed, any_of(S::sending), S::planned},
    {E::deleted, any_of(S::sent, S::done), S::done},
    {E::left, any_of(S::unseen, S::planned, S::waiting, S::unknown, S::left), S::left},
};

constexpr row<run_book::phase> run_rows[] = {
    {E::started, any_of(P::none), P::running},
    {E::resumed, any_of(P::running, P::stopped), P::running},
    {E::succeeded, any_of(P::running), P::succeeded},
    {E::stopped, any_of(P::running), P::stopped},
    {E::cancelled, any_of(P::running, P::stopped), P::cancelled},
};

template <class State>
std::optional<State> next_of(std::span<row<State> const> rows, State at, event_kind what)
{
    for (auto const& r : rows)
        if (r.what == what && (r.after & any_of(at)) != 0) return r.next;
    return {};
}

} // namespace

std::string_view name_of(stage where)
{
    static constexpr std::array<std::string_view, 8> names{
        "not known", "planned", "waiting", "sending", "unknown", "sent", "done", "left"};
    return names[static_cast<std::size_t>(where)];
}

std::string_view name_of(run_book::phase p)
{
    static constexpr std::array<std::string_view, 5> names{"empty", "running", "succeeded", "stopped", "cancelled"};
    return names[static_cast<std::size_t>(p)];
}

bool run_book::entry::is_unknown() const
{
    return in_doubt || where == stage::sending || where == stage::unknown;
}

run_book::entry const& run_book::of(std::string_view id) const
{
    static entry const none;
    auto const at = messages_.find(std::string(id));
    return at == messages_.end() ? none : at->second;
}

std::uint64_t run_book::last_of(std::string const& message) const
{
    if (message.empty()) return last_of_run_;
    return std::max<std::uint64_t>(of(message).last, 1); // an unseen one follows the beginning of the run
}

result<void> run_book::apply(event const& e)
{
    if (e.id != last_id_ + 1)
        return failure(errc::invalid_option,
            "event " + std::to_string(e.id) + " follows event " + std::to_string(last_id_) + ": some are missing");
    auto const done = e.message.empty() ? apply_to_run(e) : apply_to_message(e);
    if (!done) return done;
    last_id_ = e.id;
    last_at_ = e.at;
    if (e.message.empty()) last_of_run_ = e.id;
    return {};
}

result<void> run_book::apply_to_run(event const& e)
{
    auto const next = next_of<phase>(run_rows, phase_, e.kind);
    if (!next) return cannot_follow(e, name_of(phase_));
    phase_ = *next;
    reason_ = e.reason;
    if (e.kind == E::started) start_ = e;
    if (e.kind != E::resumed) return {};
    for (auto const& [id, one] : messages_) {
        if (!one.is_open()) continue;
        auto now = one;
        if (now.where == S::sending) {
            now.where = S::unknown;
            now.maybe_sent = now.in_doubt = true;
        }
        now.hidden_until = std::max(now.hidden_until, e.at); // by a process that is gone
        keep(id, std::move(now));
    }
    return {};
}

result<void> run_book::apply_to_message(event const& e)
{
    if (phase_ != phase::running) return cannot_follow(e, "in a run that is " + std::string(name_of(phase_)));
    auto now = of(e.message);
    auto next = next_of<stage>(message_rows, now.where, e.kind);
    // A message is forgotten only when it is done.
    if (now.where == S::unseen && e.kind == E::deleted && done_.size() >= most_done_) next = S::done;
    if (!next) return cannot_follow(e, name_of(now.where));
    if (e.kind == E::planned && e.decision != "send" && e.decision != "isolate" && e.decision != "skip")
        return failure(errc::invalid_option, "\"" + e.decision + "\" is no decision that is known here");
    now.where = *next;
    now.last = e.id;
    change(now, e);
    keep(e.message, std::move(now));
    return {};
}

/// Takes over what the event says besides where the message is.
void run_book::change(entry& now, event const& e)
{
    maybe_twice_ += e.maybe_twice ? 1 : 0;
    switch (e.kind) {
    case E::planned:
        now.isolated = e.decision == "isolate";
        now.skipped = e.decision == "skip";
        if (now.skipped) now.where = S::left;
        now.attempt = e.attempt;
        now.due = e.due;
        now.queue = e.queue;
        now.reason = e.reason;
        break;
    case E::waiting:
        now.due = e.due;
        now.hidden_until = e.hidden_until;
        now.handle = e.handle;
        break;
    case E::sending:
        now.in_doubt = now.in_doubt && !e.maybe_twice;
        // Where an earlier one may be there, the five minutes in which a FIFO queue takes no second one are of that.
        if (!now.in_doubt) now.sending_at = e.at;
        now.queue = e.queue;
        now.key = e.key;
        break;
    case E::sent:
        ++(now.isolated ? isolated_ : redriven_);
        if (!now.isolated) ++by_queue_[std::string(sqs::queue_name_in(now.queue))];
        if (e.attempt != 0) counted_[e.new_id] = e.attempt;
        counted_.erase(e.message);
        now.maybe_sent = now.in_doubt = false;
        now.hidden_until = {};
        break;
    case E::send_failed:
        ++failures_;
        now.maybe_sent = now.maybe_sent || e.maybe_twice || e.in_doubt;
        now.in_doubt = now.in_doubt || e.in_doubt;
        now.hidden_until = {};
        now.reason = e.reason;
        break;
    case E::left:
        now.skipped = false;
        now.reason = e.reason;
        break;
    default: break;
    }
}

namespace {

/// When a message that is waited for can be received.
std::optional<wall_time> awaited_until(run_book::entry const& m)
{
    if (m.waits()) return std::max(m.due, m.hidden_until);
    bool const was_let_go = (m.where == stage::planned || m.where == stage::sent) && m.hidden_until != wall_time();
    return was_let_go ? std::optional(m.hidden_until) : std::nullopt;
}

} // namespace

void run_book::keep(std::string const& id, entry now)
{
    auto& there = messages_[id];
    if (auto const until = awaited_until(there)) awaited_.erase(awaited_.find(*until));
    if (auto const until = awaited_until(now)) awaited_.insert(*until);
    auto const is_done = now.where == stage::done && there.where != stage::done;
    if (is_done && there.where == stage::sent) ++deleted_;
    there = std::move(now);
    if (is_done) done_.push_back(id);
    if (most_done_ == 0 && there.where == stage::left && !there.in_doubt) messages_.erase(id);
    if (done_.size() <= most_done_) return;
    messages_.erase(done_.front());
    done_.pop_front();
}

void run_book::expect(std::string_view id, wall_time at)
{
    auto now = of(id);
    now.hidden_until = at;
    if (now.is_open()) keep(std::string(id), std::move(now));
}

run_book::tally run_book::counts() const
{
    tally out;
    out.redriven = redriven_;
    out.isolated = isolated_;
    out.failures = failures_;
    out.maybe_twice = maybe_twice_;
    out.deleted = deleted_;
    out.undeleted = redriven_ + isolated_ - deleted_;
    for (auto const& [id, one] : messages_) {
        if (one.maybe_sent) ++out.maybe_sent;
        if (one.is_unknown())
            ++out.unknown;
        else if (one.where == stage::left)
            ++(one.skipped ? out.skipped : out.left);
        else if (one.where == stage::waiting)
            ++out.waiting;
        else if (one.where == stage::planned)
            ++out.planned;
    }
    return out;
}

int run_book::counted(std::string_view id) const
{
    auto const at = counted_.find(id);
    return at == counted_.end() ? 0 : at->second;
}

std::unordered_map<std::string, std::string> run_book::hidden(wall_time now) const
{
    std::unordered_map<std::string, std::string> out;
    for (auto const& [id, one] : messages_)
        if (one.where == stage::waiting && one.hidden_until > now && !one.handle.empty()) out.emplace(id, one.handle);
    return out;
}

result<run_book> read_journal(std::string_view text, std::size_t* torn)
{
    run_book out;
    auto const read = read_events(text, [&](event&& e) { return out.apply(e); });
    if (!read) return read.error();
    if (torn) *torn = read->torn;
    return out;
}

} // namespace quern::redrive
