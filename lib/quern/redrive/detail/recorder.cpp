#include <quern/redrive/detail/recorder.hpp>

#include <quern/sqs/limits.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace quern::redrive::detail {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto repeat_time = 5min - 30s; // in which a FIFO queue knows a deduplication id, less a clock's error
constexpr auto retention_margin = 1h;    // before a message expires

/// Chance may draw a wait now where it drew a delay then, or the other way round.
void draw_as_before(plan& p, wall_time due, std::string const& to)
{
    auto const waited = due != wall_time();
    if (!waited && p.not_before && !to.ends_with(".fifo")) p.copy.delay = sqs::max_delay;
    if (waited) p.copy.delay.reset();
    p.not_before = waited ? std::optional(due) : std::nullopt;
}

} // namespace

bool may_be_there(failure const& why)
{
    return why.code == errc::timed_out || why.code == errc::connection_lost || why.code == errc::bad_reply ||
        why.code == errc::reply_too_large || why.code == errc::not_confirmed || why.code == errc::stopped ||
        why.code == errc::checksum_mismatch || why.http_status >= 500;
}

std::optional<failure> recorder::begin(wall_time began_at)
{
    auto const& book = journal_.book();
    if (book.now() == run_book::phase::succeeded || book.now() == run_book::phase::cancelled)
        return failure(errc::invalid_option,
            "the run is over (" + std::string(name_of(book.now())) + "): begin another journal");
    if (book.now() != run_book::phase::none && book.start().queue != o_.dlq_url)
        return failure(errc::invalid_option, "the journal is of " + book.start().queue);
    if (book.now() == run_book::phase::none)
        write({.kind = event_kind::started,
            .queue = o_.dlq_url,
            .input = o_.record_input,
            .version = event::current_version,
            .due = began_at});
    else
        note(event_kind::resumed);
    auto const kept = journal_.flush();
    return kept ? std::nullopt : std::optional(kept.error());
}

void recorder::note(event_kind kind, std::string_view id, std::string reason)
{
    write({.kind = kind, .message = std::string(id), .reason = std::move(reason)});
}

void recorder::plan(delivery const& d, redrive::plan& p, std::string const& to, std::chrono::seconds retention)
{
    auto const& known = journal_.book().of(d.id());
    if (known.is_open() && p.what == action::send && !known.isolated && known.attempt == p.attempt)
        return draw_as_before(p, known.due, to);
    if (known.where == stage::left && known.skipped && p.what == action::skip) return;
    auto const sent = d.message().sent_at();
    if (o_.plan.waits && p.not_before && sent && retention != 0s &&
        *p.not_before > *sent + retention - retention_margin) {
        p.not_before = std::max<wall_time>(now(), *sent + retention - retention_margin);
        p.reason = "sent early: the queue keeps it for " + std::to_string(retention.count() / 3'600) +
            " h, and it was due later";
        if (o_.log) o_.log(log_level::warning, "redrive: " + std::string(d.id()) + ": " + p.reason);
    }
    auto const decision = p.what == action::send ? "send" : p.what == action::isolate ? "isolate" : "skip";
    write({.kind = event_kind::planned,
        .message = std::string(d.id()),
        .queue = to,
        .decision = decision,
        .attempt = p.attempt,
        .reason = p.reason,
        .due = p.not_before.value_or(wall_time())});
}

void recorder::put_off(delivery const& d, wall_time due, std::chrono::seconds hidden_for)
{
    write({.kind = event_kind::waiting,
        .message = std::string(d.id()),
        .due = due,
        .hidden_until = now() + hidden_for,
        .handle = std::string(d.message().receipt_handle)});
}

bool recorder::begin_send(std::string_view id, sqs::send_message_entry const& copy, std::string const& to)
{
    auto const key = copy.deduplication_id.value_or(std::string());
    auto const& before = journal_.book().of(id);
    auto const since = now() - before.sending_at;
    bool const is_swallowed =
        !key.empty() && key == before.key && to == before.queue && since >= 0s && since < repeat_time;
    bool const twice = before.in_doubt && !is_swallowed;
    write({.kind = event_kind::sending, .message = std::string(id), .queue = to, .key = key, .maybe_twice = twice});
    return twice;
}

/// A copy that may be in a FIFO queue is in doubt: for five minutes the queue takes no second one with the same
/// deduplication id, and after that it does.
void recorder::end_send(
    std::string_view id, std::string const& to, result<sqs::send_message_response> const& end, int counted)
{
    event e{.kind = end ? event_kind::sent : event_kind::send_failed, .message = std::string(id)};
    if (end) {
        e.new_id = end->message_id;
        e.sequence = end->sequence_number;
        e.attempt = counted;
    } else {
        e.reason = describe(end.error());
        (to.ends_with(".fifo") ? e.in_doubt : e.maybe_twice) = may_be_there(end.error());
    }
    write(std::move(e));
}

asio::awaitable<bool> recorder::kept()
{
    auto const wanted = journal_.book().last_id();
    if (journal_.flushed() < wanted) {
        auto const here = co_await asio::this_coro::executor;
        co_await asio::post(here, asio::use_awaitable);
    }
    if (journal_.flushed() < wanted) (void)journal_.flush();
    co_return !journal_.is_broken();
}

} // namespace quern::redrive::detail
