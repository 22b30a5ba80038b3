#include <quern/redrive/run_book.hpp>

#include <quern/redrive/plan.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

namespace quern::redrive {
namespace {

failure cannot_follow(event const& e, std::string_view what)
{
    auto about = e.message.empty() ? std::string("the run") : "message " + e.message;
    return failure(errc::invalid_option,
        std::string(name_of(e.kind)) + " cannot follow: " + std::move(about) + " is " + std::string(what));
}

bool is_one_of(stage is, std::initializer_list<stage> wanted)
{
    return std::ranges::find(wanted, is) != wanted.end();
}

} // namespace

std::string_view name_of(stage where)
{
    static constexpr std::array<std::string_view, 7> names{
        "planned", "waiting", "sending", "unknown", "sent", "done", "left"};
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

run_book::entry const* run_book::find(std::string_view id) const
{
    auto const at = messages_.find(std::string(id));
    return at == messages_.end() ? nullptr : &at->second;
}

std::uint64_t run_book::last_of(std::string const& message) const
{
    if (message.empty()) return last_of_run_;
    auto const* const known = find(message);
    return known ? known->last : 1;
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
    auto const wrong = [&] { return cannot_follow(e, name_of(phase_)); };
    auto const ends = [&](phase p) {
        phase_ = p;
        reason_ = e.reason;
    };
    switch (e.kind) {
    case event_kind::started:
        if (phase_ != phase::none) return wrong();
        start_ = e;
        phase_ = phase::running;
        return {};
    case event_kind::resumed:
        if (phase_ != phase::running && phase_ != phase::stopped) return wrong();
        for (auto& [id, one] : messages_)
            if (one.where == stage::sending) {
                auto now = one;
                now.where = stage::unknown;
                now.in_doubt = true;
                keep(id, std::move(now));
            }
        ends(phase::running);
        return {};
    case event_kind::succeeded:
        if (phase_ != phase::running) return wrong();
        ends(phase::succeeded);
        return {};
    case event_kind::stopped:
        if (phase_ != phase::running) return wrong();
        ends(phase::stopped);
        return {};
    case event_kind::cancelled:
        if (phase_ != phase::running && phase_ != phase::stopped) return wrong();
        ends(phase::cancelled);
        return {};
    default: return failure(errc::invalid_option, std::string(name_of(e.kind)) + " names no message");
    }
}

result<void> run_book::apply_to_message(event const& e)
{
    if (phase_ != phase::running) return cannot_follow(e, "in a run that is " + std::string(name_of(phase_)));
    auto const found = messages_.find(e.message);
    bool const is_new = found == messages_.end();
    entry now = is_new ? entry() : found->second;
    auto const wrong = [&] { return cannot_follow(e, is_new ? "not known" : name_of(now.where)); };
    switch (e.kind) {
    case event_kind::planned:
        if (!is_new && !is_one_of(now.where, {stage::planned, stage::waiting, stage::unknown, stage::left}))
            return wrong();
        if (e.decision != "send" && e.decision != "isolate" && e.decision != "skip")
            return failure(errc::invalid_option, "\"" + e.decision + "\" is no decision that is known here");
        now.isolated = e.decision == "isolate";
        now.skipped = e.decision == "skip";
        if (now.skipped)
            now.where = stage::left;
        else if (now.where != stage::unknown)
            now.where = stage::planned;
        now.attempt = e.attempt;
        now.due = e.due;
        now.queue = e.queue;
        now.reason = e.reason;
        break;
    case event_kind::waiting:
        if (is_new || !is_one_of(now.where, {stage::planned, stage::waiting})) return wrong();
        now.where = stage::waiting;
        now.due = e.due;
        now.hidden_until = e.hidden_until;
        break;
    case event_kind::sending:
        if (is_new || !is_one_of(now.where, {stage::planned, stage::waiting, stage::unknown})) return wrong();
        if (e.maybe_twice) ++maybe_twice_;
        now.in_doubt = now.in_doubt && !e.maybe_twice;
        // Where an earlier one may be there, the five minutes in which a FIFO queue takes no second one are of that.
        if (!now.in_doubt) now.sending_at = e.at;
        now.where = stage::sending;
        now.queue = e.queue;
        now.key = e.key;
        break;
    case event_kind::sent:
        if (is_new || now.where != stage::sending) return wrong();
        ++(now.isolated ? isolated_ : redriven_);
        if (!now.isolated) ++by_queue_[std::string(queue_name(now.queue))];
        now.in_doubt = false;
        now.where = stage::sent;
        break;
    case event_kind::send_failed:
        if (is_new || now.where != stage::sending) return wrong();
        ++failures_;
        if (e.maybe_twice) ++maybe_twice_;
        now.in_doubt = now.in_doubt || e.in_doubt;
        now.where = stage::planned;
        now.reason = e.reason;
        break;
    case event_kind::deleted:
        // A message is forgotten only when it is done.
        if (is_new ? done_.size() < most_done_ : !is_one_of(now.where, {stage::sent, stage::done})) return wrong();
        now.where = stage::done;
        break;
    case event_kind::left:
        if (!is_new && !is_one_of(now.where, {stage::planned, stage::waiting, stage::unknown, stage::left}))
            return wrong();
        now.where = stage::left;
        now.skipped = false;
        now.reason = e.reason;
        break;
    default: return failure(errc::invalid_option, std::string(name_of(e.kind)) + " is about no message");
    }
    now.last = e.id;
    keep(e.message, std::move(now));
    return {};
}

namespace {

/// When a message that is waited for can be received.
std::optional<wall_time> awaited_until(run_book::entry const& m)
{
    if (m.where != stage::waiting && m.where != stage::unknown) return {};
    return std::max(m.due, m.hidden_until);
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
    if (done_.size() <= most_done_) return;
    messages_.erase(done_.front());
    done_.pop_front();
}

run_book::tally run_book::counts() const
{
    tally out;
    out.redriven = redriven_;
    out.isolated = isolated_;
    out.failures = failures_;
    out.maybe_twice = maybe_twice_;
    out.deleted = deleted_;
    for (auto const& [id, one] : messages_) {
        if (one.where == stage::sent) ++out.undeleted;
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

bool run_book::awaits(wall_time now) const
{
    return !awaited_.empty() && *awaited_.rbegin() > now;
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
