// One message: planned, sent or passed over, deleted.

#include <quern/redrive/detail/state.hpp>

#include <quern/core/detail/printable.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace quern::redrive::detail {

using namespace quern::detail;
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_named = 100;                         // of the messages that are left
constexpr int most_tries = 5;                                   // of a send, while its message is held
constexpr std::size_t enough_refused = 10;                      // with none sent: the fault is not the messages'
constexpr auto pass_over_every = 1s;                            // a message for which the limit has no place
constexpr auto give_up_after = 20s;                             // of each; less than a lease, and than a drain
constexpr auto longest_hold = std::chrono::seconds(12h - 1min); // what SQS hides a message for, less its way here

/// The service finds fault with the message itself, which no other time or queue of this kind would cure.
bool blames_the_message(failure const& why)
{
    if (why.code == errc::invalid_request) return true;
    static constexpr std::array codes{"InvalidMessageContents", "InvalidParameterValue", "InvalidAttribute",
        "MessageTooLong", "MissingParameter", "UnsupportedOperation"};
    return std::ranges::any_of(codes, [&](auto code) { return why.service_code.find(code) != std::string::npos; });
}

/// Where the message comes from, by its DeadLetterQueueSourceArn; where it has none, because nobody's redrive policy
/// moved it, the only source there is.
std::optional<std::string> source_of(sqs::message const& m, std::set<std::string> const& urls)
{
    auto const arn = m.system("DeadLetterQueueSourceArn"); // arn:aws:sqs:region:account:name
    if (arn.empty()) return urls.size() == 1 ? std::optional(*urls.begin()) : std::nullopt;
    auto const name = arn.rfind(':');
    auto const account = name == arn.npos || name == 0 ? arn.npos : arn.rfind(':', name - 1);
    if (account == arn.npos) return {};
    std::string end(arn.substr(account));
    std::ranges::replace(end, ':', '/'); // as in a URL
    auto const found = std::ranges::find_if(urls, [&](auto const& url) { return url.ends_with(end); });
    return found == urls.end() ? std::nullopt : std::optional(*found);
}

/// Reason why a message without a destination is left.
std::string why_nowhere(sqs::message const& m)
{
    auto const arn = m.system("DeadLetterQueueSourceArn");
    auto const name = arn.substr(arn.rfind(':') + 1);
    auto const why = name.empty() ? "the queue that it came from is not known"
                                  : "it came from " + printable(std::string(name)) +
            ", of which this is not the "
            "dead-letter queue any more";
    return why + "; say where to send it";
}

} // namespace

void redriver_state::say(log_level level, std::string_view id, std::string const& text)
{
    if (o_.log) o_.log(level, "redrive: " + std::string(id) + ": " + text);
}

producer& redriver_state::producer_for(std::string const& url)
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

/// Hides the message until the end of the run, which makes it visible: see keep_hidden().
outcome redriver_state::pass_over(delivery& d)
{
    auto const now = time_.now();
    auto const lease = passed_over_.lease(now);
    passed_over_.received(std::string(d.id()), std::string(d.message().receipt_handle), now, lease);
    return hide(d, lease);
}

outcome redriver_state::hide(delivery& d, std::chrono::seconds for_so_long)
{
    hidden_.insert_or_assign(std::string(d.id()), std::string(d.message().receipt_handle));
    return retry_after(for_so_long);
}

/// Hides the message until it is due, or for as long as SQS hides one: then it is put off again.
outcome redriver_state::put_off(delivery& d, wall_time due)
{
    auto const left = std::chrono::ceil<std::chrono::seconds>(due - record_.now());
    auto const hold = std::clamp<std::chrono::seconds>(left, 1s, longest_hold);
    passed_over_.forget(std::string(d.id()));
    // An unknown end of a send stays so: the message is sent again, marked, when it is due.
    if (book().of(d.id()).where != stage::unknown) record_.put_off(d, due, hold);
    return hide(d, hold);
}

outcome redriver_state::leave(delivery& d, std::string const& reason)
{
    record_.note(event_kind::left, d.id(), reason);
    ++told_.left;
    ++told_.by_reason[reason];
    if (told_.left_messages.size() < most_named) told_.left_messages.push_back({std::string(d.id()), reason});
    say(log_level::info, d.id(), "left: " + reason);
    return pass_over(d);
}

redriver_state::receipt redriver_state::judge(failure const& why, bool fifo)
{
    receipt out;
    ++told_.failures;
    rule_.send_failed(time_.now());
    // A FIFO queue takes no second copy with the same deduplication id, for five minutes: see recorder::begin_send().
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
asio::awaitable<redriver_state::receipt> redriver_state::deliver(
    delivery& d, sqs::send_message_entry copy, std::string to, bool paced, int counted)
{
    auto& through = producer_for(to);
    std::string const id(d.id());
    receipt out;
    for (int tries = 1;; ++tries) {
        auto const again = book().of(id).maybe_sent; // it has its place in the limit
        auto const may = co_await gate_.turn(paced, again);
        if (may == run_rule::answer::enough && tries == 1) out.what = delivered::no_place; // else it comes again
        if (may != run_rule::answer::go) co_return out;
        auto const cancelled = co_await asio::this_coro::cancellation_state;
        // A lease that was lost during a send has told nobody.
        if (cancelled.cancelled() != asio::cancellation_type::none || d.remaining() <= 0s) {
            rule_.withdrawn(paced, again);
            co_return out;
        }
        auto const none = asio::disable_cancellation();
        co_await asio::this_coro::reset_cancellation_state(none);
        if (record_.begin_send(id, copy, to)) {
            ++told_.maybe_twice;
            say(log_level::warning, id, "sent again: it may have been sent before");
        }
        auto kept = co_await record_.kept();
        result<sqs::send_message_response> sent = failure(errc::stopped, "the journal cannot be written");
        if (kept) {
            auto once = copy;
            sent = co_await through.send(std::move(once));
            record_.end_send(id, to, sent, counted);
            kept = co_await record_.kept();
        }
        auto const all = asio::enable_terminal_cancellation();
        co_await asio::this_coro::reset_cancellation_state(all);
        if (!sent) rule_.withdrawn(paced, book().of(id).maybe_sent);
        if (!kept) { // of one that was sent the journal knows that it may have been: it comes again, marked
            end_unwritable();
            if (sent) say(log_level::warning, id, "sent, and that could not be written: it may be in two queues");
            co_return out;
        }
        if (sent) {
            out.what = delivered::yes;
            co_return out;
        }
        out = judge(sent.error(), to.ends_with(".fifo"));
        say(log_level::debug, id, "not sent: " + describe(sent.error()));
        gate_.wake();
        if (out.what != delivered::again || tries == most_tries) co_return out;
        auto const pause = std::min(5'000ms, 100ms * (1 << tries));
        auto const due = time_.now() + pause;
        co_await gate_.until(due);
    }
}

/// Deletes what was sent.
redriver_state::outcome_of redriver_state::remove(delivery& d)
{
    std::string const id(d.id());
    auto const was_deleted = book().of(id).where == stage::done; // SQS may deliver one that is deleted
    auto const done = co_await d.ack();
    if (done) {
        record_.note(event_kind::deleted, id);
        if (!was_deleted) ++told_.deleted;
        if (!was_deleted) rule_.removed(time_.now());
    } else {
        journal_.expect(id, record_.now());
        say(log_level::warning, id, "sent, but its delete is not confirmed: " + describe(done.error()));
    }
    co_return ack();
}

redriver_state::outcome_of redriver_state::end_of_send(delivery& d, receipt const& r)
{
    switch (r.what) {
    case delivered::yes:
        if (!o_.keep) co_return co_await remove(d);
        record_.note(event_kind::deleted, d.id()); // it is done with
        co_return pass_over(d);
    case delivered::again:
        if (gate_.is_closed() || rule_.why_stopped()) co_return release();
        journal_.expect(d.id(), record_.now());
        co_return retry();
    case delivered::refused: co_return leave(d, r.reason);
    case delivered::no: co_return release();
    case delivered::no_place: break;
    }
    // A place that a send in doubt has may become free: until then the whole queue is not passed over in a hurry.
    auto const due = time_.now() + pass_over_every;
    co_await gate_.until(due);
    co_return pass_over(d);
}

redriver_state::outcome_of redriver_state::carry_out(delivery& d, plan p, std::string to)
{
    auto const sends = p.what == action::send;
    auto copy = p.copy;
    auto const counted = p.is_unmarked ? p.attempt : 0;
    auto const got = co_await deliver(d, std::move(copy), to, sends, counted);
    if (got.what == delivered::refused && sends && !o_.poison_url.empty()) {
        p.reason = "refused by " + std::string(sqs::queue_name_in(to)) + ": " + got.reason;
        p.copy = isolated_copy(d.message(), {sqs::queue_name_in(o_.dlq_url), to, o_.poison_url}, p.reason);
        p.what = action::isolate;
        record_.plan(d, p, o_.poison_url, retention_);
        co_return co_await carry_out(d, std::move(p), o_.poison_url);
    }
    if (got.what == delivered::yes) {
        count(p, to);
        auto const attempts = std::to_string(p.attempt);
        if (sends)
            say(log_level::debug, d.id(), "sent to " + std::string(sqs::queue_name_in(to)) + ", attempt " + attempts);
        else
            say(log_level::info, d.id(), "isolated after " + attempts + " attempts: " + p.reason);
        if (sends) rule_.sent(time_.now(), p.copy.delay.value_or(0s));
        gate_.wake();
    }
    co_return co_await end_of_send(d, got);
}

/// Counts what was done, or would have been.
void redriver_state::count(plan const& p, std::string const& to)
{
    ++(p.what == action::send ? told_.redriven : told_.isolated);
    ++(p.what == action::send ? told_.by_queue[std::string(sqs::queue_name_in(to))] : told_.by_reason[p.reason]);
}

redriver_state::outcome_of redriver_state::handle(delivery& d)
{
    std::string const id(d.id());
    if (gate_.is_closed()) co_return release();
    if (!hidden_.contains(id)) new_at_ = time_.now();
    auto const& known = book().of(id);
    if (known.where == stage::sent || known.where == stage::done) co_return co_await remove(d);
    if (known.waits() && known.due != wall_time()) {
        hidden_.erase(id);
        if (record_.now() < known.due) co_return put_off(d, known.due);
    }
    if (hidden_.contains(id)) co_return pass_over(d); // it has come to light before the end
    co_return co_await decide(d);
}

/// The queue that a message is to go to: that of the first rule that holds, else the one for all, else its source.
std::optional<std::string> redriver_state::target_of(sqs::message const& m) const
{
    auto const meant = std::ranges::find_if(o_.targets, [&](target const& t) { return t.of.holds(m) == match::yes; });
    if (meant != o_.targets.end()) return meant->url;
    return o_.to_url.empty() ? source_of(m, sources_) : o_.to_url;
}

/// Attempts that the journal, or an earlier one, has counted of a message that does not say them.
std::optional<int> redriver_state::counted_of(sqs::message const& m) const
{
    if (!o_.record) return {};
    if (auto const here = book().counted(m.id); here != 0) return here;
    auto const before = o_.counted_before.find(m.id);
    return before == o_.counted_before.end() ? 0 : before->second;
}

redriver_state::outcome_of redriver_state::decide(delivery& d)
{
    auto const& m = d.message();
    if (auto const chosen = o_.which.chooses(m); chosen != match::yes) {
        ++told_.skipped;
        if (chosen == match::unreadable) ++told_.unreadable;
        plan none;
        none.reason = chosen == match::no ? "not chosen" : "not chosen: it has no readable JSON";
        record_.plan(d, none, {}, retention_);
        co_return pass_over(d);
    }
    auto const to = target_of(m);
    if (!to && !policy_.isolate_all) co_return leave(d, why_nowhere(m));
    route const way{sqs::queue_name_in(o_.dlq_url), to ? *to : std::string_view(), o_.poison_url};
    auto p = plan_for(m, way, policy_, random_, counted_of(m));
    if (p.has_come_back) {
        ++told_.came_back;
        // Those of a process before this one have had their say about it.
        if (m.sent_at() >= process_began_) rule_.came_back();
        news_.ring();
    }
    if (p.what == action::isolate && o_.poison_url.empty()) co_return leave(d, p.reason);
    auto const target = p.what == action::isolate ? o_.poison_url : to.value_or(std::string());
    if (o_.dry_run && p.what != action::skip) {
        auto const may = co_await gate_.turn(false);
        if (may == run_rule::answer::stopped) co_return release();
        if (may == run_rule::answer::go) count(p, target);
        co_return pass_over(d);
    }
    record_.plan(d, p, target, retention_);
    if (p.what == action::skip) co_return pass_over(d);
    if (p.not_before && record_.now() < *p.not_before) {
        if (o_.plan.waits) co_return put_off(d, *p.not_before);
        auto const due = time_.now() + std::chrono::duration_cast<tick::duration>(*p.not_before - record_.now());
        co_await gate_.until(due);
    }
    co_return co_await carry_out(d, std::move(p), target);
}

} // namespace quern::redrive::detail
