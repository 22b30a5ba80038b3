#include <quern/idempotency/once.hpp>

#include <quern/core/detail/throw_wrong.hpp>
#include <quern/core/detail/what_thrown.hpp>
#include <quern/idempotency/detail/batch_table.hpp>
#include <quern/idempotency/detail/claim_lease.hpp>
#include <quern/telemetry/detail/plain_numbers.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace quern::idempotency {

using namespace quern::detail;
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr milliseconds pause_of_failures{500};
constexpr milliseconds shortest_pause{50}; // between two looks at a row, whatever it says

record const* row_in(store_answer const& a)
{
    return a.found ? &*a.found : nullptr;
}

record completed(record row, receipt const& left)
{
    row.is = record::state::completed;
    row.in_progress_until.reset();
    row.result = left.result;
    return row;
}

asio::awaitable<void> stop_if_cancelled()
{
    auto const state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none)
        throw boost::system::system_error(asio::error::operation_aborted);
}

bool is_cancellation(std::exception_ptr const& thrown)
{
    try {
        std::rethrow_exception(thrown);
    } catch (boost::system::system_error const& e) {
        return e.code() == asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

} // namespace

std::optional<failure> once_options::validate() const
{
    if (prefix.empty())
        return failure(errc::invalid_option, "prefix: empty; say what the handler does, as \"charge-card\"");
    if (life < seconds(1) || life > seconds(366 * 86'400))
        return failure(errc::invalid_option, "life: must be from a second to a year");
    if (waiting.longest.count() < 0 || waiting.longest > longest_wait)
        return failure(errc::invalid_option, "waiting.longest: must be from zero to a day");
    if (complete_within.count() < 0 || complete_within > longest_wait)
        return failure(errc::invalid_option, "complete_within: must be from zero to a day");
    bool const needs_names = key.what == key_source::kind::attribute || key.what == key_source::kind::body;
    if (needs_names && key.names.empty()) return failure(errc::invalid_option, "key: names nothing");
    if (key.what == key_source::kind::function && !key.make)
        return failure(errc::invalid_option, "key: has no function");
    return {};
}

once::once(std::shared_ptr<store> s, once_options options)
    : store_(std::move(s)), options_(std::move(options)), time_(options_.time ? *options_.time : real_clock()),
      log_(options_.log)
{
    throw_wrong(options_.validate());
}

void once::note(log_level level, char const* cause, delivery const& d, std::string const& text)
{
    std::lock_guard const lock(log_mutex_);
    log_.write(level, cause, std::string(d.id()) + ": " + text, time_.now());
}

/// Logs every duplicate. If two messages share a key by mistake, one is deleted, and only this line says which.
void once::note_duplicate(delivery const& d, std::string const& key)
{
    std::lock_guard const lock(log_mutex_);
    log_.write_each(log_level::debug, "idempotency duplicate",
        std::string(d.id()) + ": acknowledged, the work of its key was done before: " + key, time_.now());
}

/// Handler of the end of what nobody awaits. A store may be anybody's, and throw.
std::function<void(std::exception_ptr)> once::unawaited(delivery const& d)
{
    return [self = shared_from_this(), id = std::string(d.id())](std::exception_ptr thrown) {
        if (!thrown) return;
        std::lock_guard const lock(self->log_mutex_);
        self->log_.write(
            log_level::error, "idempotency store", id + ": " + quern::detail::what_thrown(thrown), self->time_.now());
    };
}

outcome once::down(delivery const& d, failure const& why)
{
    ++counters_.unavailable;
    note(log_level::warning, "idempotency store", d, describe(why));
    return unavailable();
}

asio::awaitable<void> once::pause(milliseconds for_so_long)
{
    auto const ex = co_await asio::this_coro::executor;
    auto const timer = time_.make_timer(ex);
    co_await timer->wait_until(time_.now() + for_so_long);
    co_await stop_if_cancelled();
}

/// The outcome of a message whose claim was refused; nothing: look again.
asio::awaitable<std::optional<outcome>> once::meet(
    delivery& d, store_answer const& met, detail::claim_lease const& ours, milliseconds& waited, seat const* place)
{
    auto const now = ours.now();
    claim_wish const wish{ours.row().owner, ours.row().validation};
    auto const verdict = judge_claim(row_in(met), wish, now);
    switch (verdict.is) {
    case claim_kind::completed: {
        ++counters_.duplicates;
        note_duplicate(d, ours.key());
        if (options_.on_duplicate) options_.on_duplicate(d, met.found->result);
        co_return ack().telling(outcome::news::none); // nothing that its handler needs was tried
    }
    case claim_kind::mismatch: {
        ++counters_.mismatched;
        note(log_level::error, "idempotency mismatch", d,
            "the key " + ours.key() + " was completed with another payload");
        if (options_.on_mismatch) co_return options_.on_mismatch(d);
        auto const wrong = reject("its key was completed with another payload");
        co_return wrong.unless_deleted().telling(outcome::news::none);
    }
    default: break; // a row that has ended since is free at the next look
    }
    auto const until = std::max(verdict.until, now);
    auto const next = options_.waiting.next_look(now, until, waited, d.is_last_receive());
    bool const may_wait = !place || d.is_last_receive() || place->may_wait();
    if (!next || !may_wait) {
        ++counters_.released;
        auto const rest = std::chrono::ceil<milliseconds>(until - now);
        auto const left = std::to_string(std::chrono::ceil<seconds>(rest).count());
        note(log_level::debug, "idempotency claim", d,
            "given back for " + left + " s, when the claim of who works on its key ends: " + ours.key());
        co_return retry_after(std::max(rest, milliseconds(1'000))).telling(outcome::news::none);
    }
    ++counters_.waited;
    auto const rest = std::max<milliseconds>(*next, shortest_pause);
    waited += rest;
    if (place)
        co_await place->wait(time_.now() + rest);
    else
        co_await pause(rest);
    co_return std::nullopt;
}

/// Claims the key, and waits while somebody else has it. Returns an outcome if the handler must not run. In a batch a
/// lost lease does not cancel the handler, so this function checks the lease itself.
asio::awaitable<std::optional<outcome>> once::take(delivery& d, lease const& ours, seat const* place)
{
    milliseconds waited{};
    for (;;) {
        if (place && detail::is_lease_over(d)) co_return release().telling(outcome::news::none);
        auto wish = ours->begin();
        auto got = co_await store_->claim(std::move(wish));
        co_await stop_if_cancelled();
        if (!got && options_.run_without_store) {
            ++counters_.unavailable;
            note(log_level::error, "idempotency store", d, "it runs all the same: " + describe(got.error()));
            co_return std::nullopt;
        }
        if (!got) co_return down(d, got.error());
        bool const met_itself = !got->applied && is_mine(row_in(*got), ours->row().owner);
        if (!got->applied && !met_itself) {
            auto const said = co_await meet(d, *got, *ours, waited, place);
            if (said) co_return said;
            continue;
        }
        bool held = ours->hold();
        while (!held) {
            got = co_await ours->extend_row();
            co_await stop_if_cancelled();
            if (!got) co_return down(d, got.error());
            if (!got->applied) break;
            held = ours->hold();
        }
        if (held) co_return std::nullopt;
    }
}

asio::awaitable<void> once::give_free(lease ours)
{
    ours->let_go();
    ++counters_.abandoned;
    std::string key = ours->key(), owner = ours->row().owner;
    auto const said = co_await store_->abandon(std::move(key), std::move(owner));
    static_cast<void>(said); // if it failed, the claim ends by itself
}

/// Stores the completion, trying for `complete_within`. Returns false only if somebody else works on the key now;
/// true also if it could not be stored, because the work is done and the message must be deleted.
asio::awaitable<bool> once::record_completion(delivery& d, detail::claim_lease& ours, record done)
{
    auto const give_up_at = time_.now() + options_.complete_within;
    for (;;) {
        done.expires = std::chrono::ceil<seconds>(ours.now() + options_.life);
        auto row = done;
        auto key = ours.key();
        auto got = co_await store_->complete(std::move(key), std::move(row));
        if (got && !got->applied && !got->found) { // taken away, by hand say
            claim_request again;
            again.key = ours.key();
            again.row = done;
            again.now = ours.now();
            got = co_await store_->claim(std::move(again));
        }
        if (got && !got->applied) {
            auto const kind = judge_refusal(row_in(*got), done.owner);
            if (kind == write_kind::lost) co_return false;
            if (kind == write_kind::superseded) {
                ++counters_.fenced;
                note(log_level::warning, "idempotency fenced", d,
                    "completed by somebody else meanwhile: " + ours.key());
                co_return true;
            }
        }
        if (got) {
            ++counters_.completed;
            co_return true;
        }
        if (done.result && !got.error().retryable && got.error().code == errc::service_error) {
            done.result.reset(); // too large, say: better no result than no completion
            note(log_level::error, "idempotency result", d, "is not stored: " + describe(got.error()));
            continue;
        }
        if (time_.now() + pause_of_failures >= give_up_at) {
            ++counters_.unrecorded;
            note(log_level::error, "idempotency completion", d,
                "done, and the store does not know: " + describe(got.error()));
            co_return true;
        }
        co_await pause(pause_of_failures);
    }
}

/// Records the completion. If somebody else has the key, waits for it: giving the message back could send it to the
/// dead-letter queue although its work is done.
asio::awaitable<outcome> once::finish(
    delivery& d, lease const& ours, receipt const& left, outcome said, seat const* place)
{
    auto const ex = co_await asio::this_coro::executor;
    bool is_ours = true;
    try {
        for (;;) {
            auto done = completed(ours->row(), left);
            is_ours = co_await record_completion(d, *ours, std::move(done));
            ours->let_go();
            if (is_ours) co_return said;
            ++counters_.fenced;
            note(log_level::error, "idempotency fenced", d,
                "somebody else has taken its key over, and works on it: " + ours->key());
            auto const instead = co_await take(d, ours, place);
            if (instead) co_return *instead;
            is_ours = true;
        }
    } catch (boost::system::system_error const& e) {
        if (e.code() != asio::error::operation_aborted) throw;
    }
    // Cancelled. It may have the key or not: only who has it completes it.
    asio::co_spawn(ex, finish_late(ours, left, std::string(d.id())), unawaited(d));
    co_return is_ours ? said : release().telling(outcome::news::none);
}

/// The completion of one whose handler was cancelled, and is done all the same: one try, whose end nobody waits for.
asio::awaitable<void> once::finish_late(lease ours, receipt left, std::string id)
{
    auto done = completed(ours->row(), left);
    done.expires = std::chrono::ceil<seconds>(ours->now() + options_.life);
    ours->let_go();
    auto key = ours->key();
    auto const got = co_await store_->complete(std::move(key), std::move(done));
    if (got && got->applied) {
        ++counters_.completed;
        co_return;
    }
    ++counters_.unrecorded;
    std::lock_guard const lock(log_mutex_);
    log_.write(log_level::warning, "idempotency completion",
        id + ": done, cancelled, and the store does not know" + (got ? "" : ": " + describe(got.error())),
        time_.now());
}

asio::awaitable<outcome> once::handle(delivery& d, worker const& next, seat const* place)
{
    auto const self = shared_from_this();
    auto const value = options_.key.key_in(d);
    if (!value) {
        if (options_.on_missing_key) co_return options_.on_missing_key(d);
        throw parse_error("the message has no such key, or an empty one");
    }
    record row;
    row.owner = new_owner();
    if (options_.validation) {
        if (auto const payload = options_.validation->value_in(d)) row.validation = digest_of(options_.as, *payload);
    }
    row.expires = std::chrono::ceil<seconds>(time_.wall() + store_->clock_offset() + options_.life);
    auto const ours = std::make_shared<detail::claim_lease>(
        store_, time_, d, make_key(options_.as, options_.prefix, *value), std::move(row));
    std::optional<outcome> not_to_run;
    bool called_off = false;
    try {
        auto const guarded = co_await d.guard_lease(ours);
        if (!guarded) co_return release(); // the lease is over, and what is said here counts no more
        if (place) co_await place->line_up(ours->key());
        not_to_run = co_await take(d, ours, place);
    } catch (boost::system::system_error const& e) {
        if (e.code() != asio::error::operation_aborted) throw;
        called_off = true;
    }
    auto const ex = co_await asio::this_coro::executor;
    auto const gone = unawaited(d);
    if (called_off) { // it has not begun: no failure, whatever the wait was for
        asio::co_spawn(ex, give_free(ours), gone);
        co_return release().telling(outcome::news::none);
    }
    if (not_to_run) co_return *not_to_run;

    ++counters_.claimed;
    receipt left;
    std::exception_ptr thrown;
    outcome said;
    try {
        said = co_await next(d, left);
    } catch (...) {
        thrown = std::current_exception();
    }
    // A cancelled coroutine may await nothing more: what is to be written then goes its own way.
    auto const state = co_await asio::this_coro::cancellation_state;
    bool const cancelled = state.cancelled() != asio::cancellation_type::none;
    bool const is_done = !thrown && said.what() == outcome::kind::ack;
    if (is_done && ours->is_held() && cancelled) {
        asio::co_spawn(ex, finish_late(ours, left, std::string(d.id())), gone);
        co_return said;
    }
    if (is_done && ours->is_held()) co_return co_await finish(d, ours, left, said, place);
    if (is_done) co_return said; // without a store
    if (cancelled || (thrown && is_cancellation(thrown))) {
        asio::co_spawn(ex, give_free(ours), gone);
    } else if (ours->is_held()) {
        co_await give_free(ours);
    }
    if (thrown) std::rethrow_exception(thrown);
    co_return said;
}

middleware once::around()
{
    return [self = shared_from_this()](delivery& d, handler const& next) -> asio::awaitable<outcome> {
        worker const work = [&next](delivery& its, receipt&) { return next(its); };
        co_return co_await self->handle(d, work, nullptr);
    };
}

handler once::around(worker work)
{
    return
        [self = shared_from_this(), work = std::move(work)](delivery& d) { return self->handle(d, work, nullptr); };
}

handler once::wrap(handler inner)
{
    return chain(around(), std::move(inner));
}

once_counters once::counters() const
{
    return telemetry::detail::plain_numbers(counters_);
}

} // namespace quern::idempotency
