// A run from its beginning to its end.

#include <quern/redrive/detail/state.hpp>

#include <quern/core/detail/text/reading.hpp>
#include <quern/redrive/detail/give_back.hpp>
#include <quern/sqs/detail/next_tokens.hpp>
#include <quern/sqs/queue_attributes.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace quern::redrive::detail {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto look_every = 1s;     // at the depth, and at the journal
constexpr auto check_every = 100ms; // whether it is over

struct standing {
    sqs::queue_depth depth;
    std::chrono::seconds retention{0};
    bool has_policy = false; // of its own: it gives messages away after some receives
};

sqs::answer<standing> look(sqs::api& api, std::string url)
{
    sqs::get_queue_attributes_request ask(std::move(url));
    ask.attribute_names = sqs::depth_attributes();
    ask.attribute_names.insert(ask.attribute_names.end(), {"MessageRetentionPeriod", "RedrivePolicy"});
    auto const got = co_await api.get_queue_attributes(std::move(ask));
    if (!got) co_return got.error();
    auto const depth = sqs::depth_in(got->attributes);
    if (!depth) co_return depth.error();
    standing out;
    out.depth = *depth;
    out.has_policy = got->attributes.contains("RedrivePolicy");
    auto const kept = got->attributes.find("MessageRetentionPeriod");
    if (kept != got->attributes.end())
        out.retention = std::chrono::seconds(quern::detail::text::number_in<std::int64_t>(kept->second).value_or(0));
    co_return out;
}

sqs::answer<std::set<std::string>> find_sources(sqs::api& api, std::string url)
{
    std::set<std::string> out;
    std::string token;
    sqs::detail::next_tokens pages;
    do {
        sqs::list_dead_letter_source_queues_request ask(url);
        ask.max_results = 1'000;
        if (!token.empty()) ask.next_token = token;
        auto const page = co_await api.list_dead_letter_source_queues(std::move(ask));
        if (!page) co_return page.error();
        out.insert(page->queue_urls.begin(), page->queue_urls.end());
        token = page->next_token;
        if (auto const more = pages.follow(token); !more) co_return more.error();
    } while (!token.empty());
    if (!out.empty()) co_return out;
    co_return failure(errc::invalid_option,
        std::string(sqs::queue_name_in(url)) +
            " is the dead-letter queue of no queue: say where to send its messages, with --to");
}

} // namespace

redriver_state::redriver_state(asio::any_io_executor ex, sqs::api& api, options o)
    : ex_(std::move(ex)), api_(api), o_(std::move(o)), time_(o_.time ? *o_.time : real_clock()),
      random_(o_.seed != 0 ? o_.seed : std::random_device()()), policy_(o_.plan), rule_(o_.speed, time_.now()),
      news_(time_, ex_), gate_(o_, time_, rule_, news_), journal_(o_.record ? *o_.record : in_memory_),
      record_(o_, api_, time_, journal_), new_at_(time_.now()), keeping_(time_, ex_)
{}

asio::awaitable<std::optional<failure>> redriver_state::prepare()
{
    auto const now = co_await look(api_, o_.dlq_url);
    if (!now) co_return now.error();
    told_.dry_run = o_.dry_run;
    told_.depth = now->depth.total();
    rule_.depth_is(told_.depth, 0, time_.now());
    process_began_ = std::chrono::floor<std::chrono::milliseconds>(record_.now());
    retention_ = now->retention;
    if (now->has_policy && o_.log)
        o_.log(log_level::warning,
            "redrive: " + std::string(sqs::queue_name_in(o_.dlq_url)) +
                " has a redrive policy of its own: each look at a message is a receive, and after enough of them SQS "
                "moves it on");
    if (o_.to_url.empty() && !policy_.isolate_all) {
        auto found = co_await find_sources(api_, o_.dlq_url);
        if (!found) co_return found.error();
        sources_ = std::move(*found);
    }
    if (auto wrong = record_.begin(process_began_)) co_return wrong;
    take_up();
    co_return std::nullopt;
}

/// Goes on from where the book is.
void redriver_state::take_up()
{
    policy_.began_at = book().start().due;
    policy_.cutoff = o_.cutoff ? std::optional(policy_.began_at) : std::nullopt;
    auto const counts = book().counts();
    told_.redriven = counts.redriven;
    told_.isolated = counts.isolated;
    told_.deleted = counts.deleted;
    told_.failures = counts.failures;
    told_.maybe_twice = counts.maybe_twice;
    told_.by_queue = book().redriven_to();
    rule_.begin_with(counts.redriven + counts.isolated + counts.maybe_sent);
    hidden_ = book().hidden(record_.now()); // by the process before this one, which had no time to give it back
    look_at_journal();                      // somebody may have asked for the end while no process was there
    if (told_.cancelled) gate_.close();
}

void redriver_state::end()
{
    gate_.close();
    if (it_) it_->stop(o_.drain_deadline);
}

void redriver_state::stop()
{
    is_told_to_end_ = true;
    end();
    news_.ring();
}

/// Messages that were sent leave the queue before the run is over: the next one would send them again, unmarked.
bool redriver_state::has_enough() const
{
    return o_.speed.limit && told_.redriven + told_.isolated >= *o_.speed.limit && !book().has_undeleted();
}

/// True while a message waits, or was let go not so long ago that it must have come again.
bool redriver_state::awaits() const
{
    return book().awaits(record_.now() - 2 * o_.visibility_timeout);
}

/// Nothing can be written, so nothing may be done any more; all are told.
void redriver_state::end_unwritable()
{
    if (!std::exchange(told_.journal_failed, true))
        rule_.stop("the journal cannot be written: " + journal_.why_broken());
    news_.ring();
    gate_.wake();
}

void redriver_state::look_at_journal()
{
    told_.cancelled = journal_.is_cancelled();
    // The journal keeps here what no send waits for.
    if (journal_.flushed() < book().last_id()) (void)journal_.flush();
    if (journal_.is_broken()) end_unwritable();
}

/// The queue counts no message, and has for as long as such a count may be old. Then nothing that is awaited comes: a
/// process that was killed may have deleted it and not written that down.
asio::awaitable<bool> redriver_state::has_none()
{
    auto const asked_at = time_.now();
    if (asked_at - none_at_ < look_every) co_return false;
    none_at_ = asked_at;
    auto const now = co_await look(api_, o_.dlq_url);
    if (!now || now->depth.total() != 0) none_since_.reset();
    if (!now || now->depth.total() != 0) co_return false;
    if (!none_since_) none_since_ = asked_at;
    auto const is_known = asked_at - *none_since_ >= o_.speed.depth_lag;
    if (is_known) hidden_.clear();
    co_return is_known;
}

/// Nothing is held or awaited here, the queue has nothing that could be received, and receives came back empty: or
/// brought only what is hidden, until each had its turn, where one of many comes to light every few seconds. A FIFO
/// queue goes on counting what is behind a message that we hide; there, the receives have to do.
asio::awaitable<bool> redriver_state::is_empty(consumer const& c)
{
    auto const seen = c.counters().empty_polls;
    if (c.in_flight() != 0) {
        empty_polls_ = seen;
        none_since_.reset();
        co_return false;
    }
    if (awaits()) {
        empty_polls_ = seen;
        co_return co_await has_none();
    }
    auto const is_behind_ours = o_.dlq_url.ends_with(".fifo") && !hidden_.empty();
    std::uint64_t const enough = is_behind_ours ? 2 : 1; // one may have begun while a message was held
    auto const longest_absence = passed_over_.lease(time_.now()) + o_.visibility_timeout;
    bool const has_come_round = time_.now() - new_at_ > longest_absence;
    if (seen < empty_polls_ + enough && !has_come_round) co_return false;
    empty_polls_ = seen;
    auto const now = co_await look(api_, o_.dlq_url);
    auto const are_elsewhere = now && now->depth.in_flight > hidden_.size();
    // Messages that a killed process hid come to light first; a record is not closed before.
    if (o_.record && (!now || are_elsewhere)) co_return false;
    if (!are_elsewhere) others_since_.reset();
    if (are_elsewhere && !others_since_) others_since_ = time_.now();
    // SQS may count for a while what was just deleted here.
    if (are_elsewhere && time_.now() - *others_since_ < o_.speed.depth_lag) co_return false;
    if (is_behind_ours) co_return true;
    co_return now && now->depth.visible + now->depth.delayed == 0 && c.in_flight() == 0 && !awaits();
}

/// Extends the leases of what is passed over, until the consumer has ended. What cannot be extended comes to light,
/// and is passed over again.
asio::awaitable<void> redriver_state::keep_hidden(std::optional<result<drain_report>> const& over)
{
    while (!over) {
        auto const extended = co_await extend_due(api_, time_, o_.dlq_url, passed_over_);
        if (extended) continue;
        auto const next = time_.now() + look_every;
        co_await keeping_.wait(next);
    }
}

/// Looks on until the consumer has ended, which it does when nothing is left to do, or nothing may be done any more.
asio::awaitable<void> redriver_state::watch(consumer& c, std::optional<result<drain_report>> const& over)
{
    auto look_at = time_.now();
    while (!over) {
        auto const soon = time_.now() + (awaits() ? look_every : check_every);
        co_await news_.wait(soon);
        told_.watches_for = rule_.watches_for(time_.now());
        if (over || gate_.is_closed()) continue;
        auto const looks = time_.now() >= look_at;
        if (looks) look_at_journal();
        if (looks && rule_.wants_depth()) {
            auto const before = rule_.removed_count();
            auto const now = co_await look(api_, o_.dlq_url);
            if (now) rule_.depth_is(now->depth.total(), before, time_.now());
            told_.came_back = std::max(told_.came_back, rule_.wants_depth() ? rule_.came_back_count() : 0);
            gate_.wake();
        }
        if (looks) look_at = time_.now() + look_every;
        if (rule_.why_stopped() || told_.cancelled || has_enough()) {
            is_finished_ = has_enough();
            end();
            continue;
        }
        auto const empty = co_await is_empty(c);
        if (!empty) continue;
        is_finished_ = true;
        end();
    }
}

/// A message that was waited for and is not in the queue any more was deleted, if it had been sent; else it is gone.
/// Where nobody knows whether it was sent, it stays so.
void redriver_state::settle_missing()
{
    auto const blocks_groups = o_.dlq_url.ends_with(".fifo") && !hidden_.empty();
    std::vector<std::pair<std::string, stage>> open;
    for (auto const& [id, one] : book().messages()) {
        if (!one.is_open() || one.is_unknown()) continue;
        if (hidden_.contains(id) && !one.waits())
            continue; // one that waits would have come: nothing is awaited any more
        // A message of the group that was sent would have come before what is hidden.
        if (blocks_groups && one.where != stage::sent) continue;
        open.emplace_back(id, one.where);
    }
    std::ranges::sort(open);
    for (auto const& [id, where] : open) {
        auto const was_sent = where == stage::sent;
        record_.note(was_sent ? event_kind::deleted : event_kind::left, id, "it is not in the queue any more");
        ++(was_sent ? told_.deleted : told_.left);
    }
}

/// Without a journal nobody goes on with the run: what is unknown stays so.
void redriver_state::close_book()
{
    told_.cancelled = told_.cancelled || journal_.is_cancelled();
    if (o_.record && is_finished_ && !has_enough() && told_.elsewhere == 0) settle_missing();
    auto const counts = book().counts();
    told_.waiting = counts.waiting;
    told_.maybe_twice += counts.undeleted;
    (o_.record ? told_.unknown : told_.maybe_twice) += counts.unknown;
    if (told_.cancelled)
        record_.note(event_kind::cancelled, {}, "on request");
    else if (told_.stopped)
        record_.note(event_kind::stopped, {}, *told_.stopped);
    else if (is_finished_ && counts.undeleted == 0) // else it is to be resumed
        record_.note(event_kind::succeeded);
    auto const kept = journal_.flush();
    if (kept) return;
    told_.journal_failed = true;
    if (!told_.stopped) told_.stopped = "the journal cannot be written: " + describe(kept.error());
}

asio::awaitable<result<report>> redriver_state::run()
{
    auto const began = time_.now();
    auto const unready = co_await prepare();
    if (unready) co_return *unready;

    std::optional<result<drain_report>> over;
    {
        auto each = [this](delivery& d) { return handle(d); };
        consumer c(ex_, api_, o_.dlq_url, each, consumer_settings(o_));
        it_ = &c;
        auto const ended = [this, &over](std::exception_ptr bug, result<drain_report> end) {
            if (bug) std::rethrow_exception(bug);
            over = std::move(end);
            news_.ring();
        };
        if (o_.begins) o_.begins(c);
        if (gate_.is_closed()) c.stop(o_.drain_deadline);
        asio::co_spawn(ex_, c.run(), ended);
        is_keeping_ = true;
        asio::co_spawn(ex_, keep_hidden(over), [this](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
            is_keeping_ = false;
            news_.ring();
        });
        co_await watch(c, over);
        it_ = nullptr;
        told_.watches_for.reset();
        told_.drain = co_await c.drained();
        keeping_.ring();
        while (is_keeping_)
            co_await news_.wait();
        if (o_.ends) co_await o_.ends();
    }
    for (auto& [url, one] : producers_)
        co_await one->close(o_.drain_deadline);
    auto const left = co_await look(api_, o_.dlq_url);
    if (left && !has_enough())
        told_.elsewhere = left->depth.in_flight - std::min(left->depth.in_flight, hidden_.size());
    if (left && is_finished_ && !has_enough() && told_.skipped != 0 && o_.dlq_url.ends_with(".fifo"))
        told_.behind = left->depth.visible + left->depth.delayed;
    told_.stopped = rule_.why_stopped();
    if (over->has_error() && !told_.stopped) told_.stopped = describe(over->error());
    close_book();
    told_.interrupted = is_told_to_end_ && !is_finished_ && !told_.stopped && !told_.cancelled;
    std::vector<std::string> handles;
    for (auto const& [id, handle] : hidden_)
        handles.push_back(handle);
    auto const given = co_await give_back(api_, time_, o_.dlq_url, std::move(handles));
    told_.still_hidden = given.hidden;
    told_.took = std::chrono::duration_cast<std::chrono::milliseconds>(time_.now() - began);
    co_return told_;
}

} // namespace quern::redrive::detail
