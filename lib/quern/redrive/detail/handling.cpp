// One message: planned, sent or passed over, deleted.

#include <quern/redrive/detail/state.hpp>

#include <quern/core/detail/printable.hpp>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

namespace quern::redrive {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_named = 100;    // of the messages that are left
constexpr int most_tries = 5;              // of a send, while its message is held
constexpr std::size_t enough_refused = 10; // with none sent: the fault is not the messages'
constexpr auto halt_every = 1s;            // asked whether work may go on
constexpr auto pass_over_every = 1s;       // a message for which the limit has no place
constexpr auto give_up_after = 20s;        // of each; less than a lease, and than a drain

/// The service finds fault with the message itself, which no other time or queue of this kind would cure.
bool blames_the_message(failure const& why)
{
    if (why.code == errc::invalid_request) return true;
    static constexpr std::array codes{"InvalidMessageContents", "InvalidParameterValue", "InvalidAttribute",
        "MessageTooLong", "MissingParameter", "UnsupportedOperation"};
    return std::ranges::any_of(codes, [&](auto code) { return why.service_code.find(code) != std::string::npos; });
}

/// An alarm among those that ring when the rules may answer otherwise, as long as it lives.
struct listed_alarm {
    listed_alarm(std::list<alarm*>& all, clock& time, asio::any_io_executor const& ex)
        : it(time, ex), all_(all), place_(all.insert(all.end(), &it))
    {}
    ~listed_alarm() { all_.erase(place_); }
    listed_alarm(listed_alarm const&) = delete;
    listed_alarm& operator=(listed_alarm const&) = delete;

    alarm it;

private:
    std::list<alarm*>& all_;
    std::list<alarm*>::iterator place_;
};

} // namespace

/// The message may be in the queue all the same.
bool redriver::state::may_be_there(failure const& why)
{
    return why.code == errc::timed_out || why.code == errc::connection_lost || why.code == errc::bad_reply ||
        why.code == errc::reply_too_large || why.code == errc::not_confirmed || why.code == errc::stopped ||
        why.code == errc::checksum_mismatch || why.http_status >= 500;
}

void redriver::state::say(log_level level, std::string_view id, std::string const& text)
{
    if (o_.log) o_.log(level, "redrive: " + std::string(id) + ": " + text);
}

void redriver::state::wake()
{
    for (auto* one : waiting_)
        one->ring();
}

/// By its DeadLetterQueueSourceArn; where it has none, because nobody's redrive policy moved it, the only source
/// there is.
std::optional<std::string> redriver::state::destination(sqs::message const& m) const
{
    if (!o_.to_url.empty()) return o_.to_url;
    auto const arn = m.system("DeadLetterQueueSourceArn"); // arn:aws:sqs:region:account:name
    if (arn.empty()) return sources_.size() == 1 ? std::optional(sources_.begin()->second) : std::nullopt;
    auto const name = arn.rfind(':');
    auto const account = name == arn.npos || name == 0 ? arn.npos : arn.rfind(':', name - 1);
    if (account == arn.npos) return {};
    auto key = std::string(arn.substr(account + 1));
    key[name - account - 1] = '/';
    auto const found = sources_.find(key);
    return found == sources_.end() ? std::nullopt : std::optional(found->second);
}

producer& redriver::state::producer_for(std::string const& url)
{
    auto& place = producers_[url];
    if (place) return *place;
    producer_options settings;
    settings.max_attempts = 1; // what may have been sent is known and counted
    settings.give_up_after = give_up_after;
    settings.log = nullptr;
    settings.time = o_.time;
    settings.seed = o_.seed;
    place = std::make_unique<producer>(ex_, api_, url, settings);
    return *place;
}

outcome redriver::state::hide(delivery& d)
{
    hidden_.insert_or_assign(std::string(d.id()), std::string(d.message().receipt_handle));
    return retry_after(o_.hide_for);
}

outcome redriver::state::leave(delivery& d, std::string const& reason)
{
    note(event_kind::left, &d, [&](event& e) { e.reason = reason; });
    ++told_.left;
    ++told_.by_reason[reason];
    if (told_.left_messages.size() < most_named) told_.left_messages.push_back({std::string(d.id()), reason});
    say(log_level::info, d.id(), "left: " + reason);
    return hide(d);
}

outcome redriver::state::again(delivery& d)
{
    awaited_[std::string(d.id())] = time_.now() + 2 * o_.visibility_timeout;
    return retry();
}

/// Completes at `at`, or when the run ends.
asio::awaitable<void> redriver::state::until(tick at)
{
    auto const here = co_await asio::this_coro::executor;
    listed_alarm mine(waiting_, time_, here);
    while (!ending_ && time_.now() < at)
        co_await mine.it.wait(at);
}

/// Notices when a run that waits is halted, and when it goes on.
void redriver::state::note_halt(std::optional<std::string> const& why)
{
    if (why.has_value() == halted_since_.has_value()) return;
    auto const now = time_.now();
    if (halted_since_) rule_.halted(*halted_since_, now);
    halted_since_ = why ? std::optional(now) : std::nullopt;
    if (o_.log) o_.log(log_level::warning, why ? "redrive: halted: " + *why : std::string("redrive: goes on"));
}

run_rule::turn redriver::state::ask(bool paced, bool again)
{
    auto const why = o_.halted ? o_.halted() : std::nullopt;
    if (o_.waits_when_halted) note_halt(why);
    if (why && o_.waits_when_halted) return {run_rule::answer::wait, time_.now() + halt_every};
    if (why) rule_.stop("CircuitBreakerOpen: " + *why);
    if (why) news_.ring();
    return rule_.ask(time_.now(), paced, again);
}

/// Completes when one more may begin, or none may any more.
asio::awaitable<run_rule::answer> redriver::state::turn(bool paced, bool again)
{
    auto said = ask(paced, again);
    if (said.what != run_rule::answer::wait || ending_) co_return ending_ ? run_rule::answer::stopped : said.what;
    auto const here = co_await asio::this_coro::executor;
    listed_alarm mine(waiting_, time_, here);
    while (said.what == run_rule::answer::wait && !ending_) {
        co_await mine.it.wait(said.at);
        if (ending_) break;
        said = ask(paced, again);
    }
    if (said.what == run_rule::answer::wait) co_return run_rule::answer::stopped;
    co_return said.what;
}

redriver::state::receipt redriver::state::judge(failure const& why, bool fifo)
{
    receipt out;
    ++told_.failures;
    rule_.send_failed(time_.now());
    // A FIFO queue takes no second copy with the same deduplication id, for five minutes: see note_sending().
    if (may_be_there(why) && !fifo) ++told_.maybe_twice;
    if (why.retryable || why.code == errc::stopped || why.code == errc::not_confirmed) {
        out.what = delivered::again;
    } else if (blames_the_message(why) || why.code == errc::checksum_mismatch) {
        out.what = delivered::refused;
        auto const code = why.service_code.empty() ? why.code.message() : why.service_code;
        out.reason = printable(code + ": " + why.message); // no request id: equal reasons are counted together
        if (++refused_ >= enough_refused && told_.redriven == 0)
            rule_.stop("every message was refused: " + out.reason);
    } else {
        rule_.stop("a send was refused: " + describe(why));
    }
    news_.ring();
    return out;
}

/// Sends, and again where that may help. What begins here is not cancelled any more: its end must be known.
asio::awaitable<redriver::state::receipt> redriver::state::deliver(
    delivery& d, sqs::send_message_entry copy, std::string to, bool paced)
{
    auto const fifo = to.ends_with(".fifo");
    auto& through = producer_for(to);
    receipt out;
    for (int tries = 1;; ++tries) {
        std::string const id(d.id());
        auto const again = doubt_about(id).has_value() || maybe_sent_.contains(id); // it has its place in the limit
        auto const may = co_await turn(paced, again);
        if (may == run_rule::answer::enough) out.reason = "enough";
        if (may != run_rule::answer::go) co_return out;
        auto const cancelled = co_await asio::this_coro::cancellation_state;
        // A lease that was lost during a send has told nobody.
        if (cancelled.cancelled() != asio::cancellation_type::none || d.remaining() <= 0s) {
            rule_.withdrawn(paced, again);
            co_return out;
        }
        auto const none = asio::disable_cancellation();
        co_await asio::this_coro::reset_cancellation_state(none);
        note_sending(d, copy, to);
        auto kept = co_await is_kept();
        result<sqs::send_message_response> sent = failure(errc::stopped, "the journal cannot be written");
        if (kept) {
            auto once = copy;
            auto const began = service_time();
            sent = co_await through.send(std::move(once));
            note_end_of_send(d, copy, to, began, sent);
            kept = co_await is_kept();
        }
        auto const all = asio::enable_terminal_cancellation();
        co_await asio::this_coro::reset_cancellation_state(all);
        if (sent) maybe_sent_.erase(id);
        if (sent && kept) {
            out.what = delivered::yes;
            co_return out;
        }
        if (!sent && may_be_there(sent.error())) maybe_sent_.insert(id);
        if (!sent) rule_.withdrawn(paced, doubt_about(id).has_value() || maybe_sent_.contains(id));
        if (!kept) { // of one that was sent the journal knows that it may have been: it comes again, marked
            if (sent) ++told_.maybe_twice;
            if (sent) say(log_level::warning, id, "sent, and that could not be written: it may be in two queues");
            co_return out;
        }
        out = judge(sent.error(), fifo);
        say(log_level::debug, d.id(), "not sent: " + describe(sent.error()));
        wake();
        if (out.what != delivered::again || tries == most_tries) co_return out;
        auto const pause = std::min(5'000ms, 100ms * (1 << tries));
        auto const due = time_.now() + pause;
        co_await until(due);
    }
}

/// Deletes what was sent, and remembers what may still be there.
redriver::state::outcome_of redriver::state::remove(delivery& d)
{
    std::string const id(d.id());
    auto const* const known = recorded(id);
    bool const was_deleted = known && known->where == stage::done; // SQS may deliver one that is deleted
    unconfirmed_.insert(id);
    auto const done = co_await d.ack();
    if (done) {
        unconfirmed_.erase(id);
        note(event_kind::deleted, &d);
        if (!was_deleted) ++told_.deleted;
        if (!was_deleted) rule_.removed(time_.now());
    } else {
        awaited_[id] = time_.now() + 2 * o_.visibility_timeout;
        say(log_level::warning, id, "sent, but its delete is not confirmed: " + describe(done.error()));
    }
    co_return ack();
}

redriver::state::outcome_of redriver::state::end_of_send(delivery& d, receipt const& r)
{
    switch (r.what) {
    case delivered::again:
        if (ending_ || rule_.why_stopped()) break;
        co_return again(d);
    case delivered::refused: co_return leave(d, r.reason);
    case delivered::no: break;
    case delivered::yes:
        if (o_.keep) co_return hide(d);
        auto const said = co_await remove(d);
        co_return said;
    }
    if (r.reason != "enough") co_return release();
    // A place that a send in doubt has may become free: until then the whole queue is not passed over in a hurry.
    auto const due = time_.now() + pass_over_every;
    co_await until(due);
    co_return hide(d);
}

redriver::state::outcome_of redriver::state::send(delivery& d, plan p, std::string to)
{
    if (p.not_before && !o_.record) {
        auto const due = time_.now() +
            std::chrono::duration_cast<tick::duration>(*p.not_before - time_.wall() - api_.clock_offset());
        co_await until(due);
    }
    auto copy = p.copy;
    auto got = co_await deliver(d, std::move(copy), to, true);
    if (got.what == delivered::refused && !o_.poison_url.empty()) {
        p.reason = "refused by " + std::string(queue_name(to)) + ": " + got.reason;
        p.copy = isolated_copy(d.message(), {queue_name(o_.dlq_url), to, o_.poison_url}, p.reason);
        p.what = action::isolate;
        record(d, p, o_.poison_url);
        auto const said = co_await isolate(d, std::move(p));
        co_return said;
    }
    if (got.what == delivered::yes) {
        ++told_.redriven;
        ++told_.by_queue[std::string(queue_name(to))];
        auto const delay = p.copy.delay.value_or(0s);
        rule_.sent(time_.now(), delay);
        say(log_level::debug, d.id(),
            "sent to " + std::string(queue_name(to)) + ", attempt " + std::to_string(p.attempt));
        wake();
    }
    auto const said = co_await end_of_send(d, got);
    co_return said;
}

redriver::state::outcome_of redriver::state::isolate(delivery& d, plan p)
{
    auto const got = co_await deliver(d, std::move(p.copy), o_.poison_url, false);
    if (got.what == delivered::yes) {
        ++told_.isolated;
        ++told_.by_reason[p.reason];
        say(log_level::info, d.id(), "isolated after " + std::to_string(p.attempt) + " attempts: " + p.reason);
    }
    auto const said = co_await end_of_send(d, got);
    co_return said;
}

redriver::state::outcome_of redriver::state::handle(delivery& d)
{
    std::string const id(d.id());
    auto const& m = d.message();
    awaited_.erase(id);
    if (ending_) co_return release();
    if (!hidden_.contains(id)) new_at_ = time_.now();
    if (unconfirmed_.contains(id) || has_recorded_send(id)) {
        auto const said = co_await remove(d);
        co_return said;
    }
    if (auto const due = due_of(id)) {
        hidden_.erase(id);
        if (service_time() < *due) co_return put_off(d, *due);
    }
    if (hidden_.contains(id)) co_return hide(d); // it has come to light before the end
    if (auto const chosen = o_.which.chooses(m); chosen != match::yes) {
        ++told_.skipped;
        if (chosen == match::unreadable) ++told_.unreadable;
        plan none;
        none.reason = chosen == match::no ? "not chosen" : "not chosen: it has no readable JSON";
        record(d, none, {});
        co_return hide(d);
    }
    auto const to = destination(m);
    if (!to && !policy_.isolate_all)
        co_return leave(d, "the queue that it came from is not known; say where to send it");
    auto const target = to.value_or(std::string());
    route const way{queue_name(o_.dlq_url), target, o_.poison_url};
    auto p = plan_for(m, way, policy_, random_);
    if (p.has_come_back) {
        ++told_.came_back;
        // Those of a process before this one have had their say about it.
        if (m.sent_at() >= process_began_) rule_.came_back();
        news_.ring();
    }
    if (p.what == action::isolate && o_.poison_url.empty()) co_return leave(d, p.reason);
    record(d, p, p.what == action::isolate ? o_.poison_url : target);
    if (p.what == action::skip) co_return hide(d);
    if (o_.record && p.not_before && service_time() < *p.not_before) co_return put_off(d, *p.not_before);
    if (o_.dry_run) {
        auto const may = co_await turn(false);
        if (may == run_rule::answer::stopped) co_return release();
        if (may == run_rule::answer::go) {
            ++(p.what == action::send ? told_.redriven : told_.isolated);
            ++(p.what == action::send ? told_.by_queue[std::string(queue_name(target))] : told_.by_reason[p.reason]);
        }
        co_return hide(d);
    }
    if (p.what == action::isolate) {
        auto const said = co_await isolate(d, std::move(p));
        co_return said;
    }
    auto const said = co_await send(d, std::move(p), target);
    co_return said;
}

} // namespace quern::redrive
