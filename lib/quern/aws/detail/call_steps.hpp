#pragma once

// The bodies of signed_service, for the sources that make one of a signer: each in a unit of its own, so that
// what the compiler inlines into one does not hang on the other.

#include <quern/aws/detail/call.hpp>
#include <quern/aws/detail/error_reply.hpp>
#include <quern/aws/detail/question.hpp>
#include <quern/core/detail/and_then.hpp>
#include <quern/core/detail/random_part.hpp>
#include <quern/core/detail/throw_wrong.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

namespace quern::aws::detail {

namespace asio = boost::asio;

namespace {

template <class Target>
Target located(Target target, net::endpoint const& where)
{
    target.host = where.authority();
    target.path = where.path;
    return target;
}

bool is_success(result<net::response> const& answer)
{
    return answer && answer->status >= 200 && answer->status < 300;
}

failure why_failed(result<net::response> const& answer)
{
    return answer ? decode_error(*answer) : answer.error();
}

std::optional<std::chrono::milliseconds> hint_in(result<net::response> const& answer)
{
    if (!answer) return {};
    return parse_retry_after(answer->fields.find("x-amz-retry-after"));
}

/// Whether the service may have carried out what failed so.
bool may_have_acted(failure const& why)
{
    return why.code == errc::timed_out || why.code == errc::connection_lost || why.code == errc::bad_reply ||
        why.code == errc::reply_too_large || why.http_status >= 500;
}

/// Whether it says of its own attempt, and of no other, that nothing was carried out.
bool did_nothing(failure const& why)
{
    return why.code == errc::connect_failed || why.code == errc::tls_failed || why.code == errc::throttled;
}

} // namespace

template <class Signer>
signed_service<Signer>::signed_service(net::client& client, target where, std::shared_ptr<credentials_provider> keys,
    clock& time, retry_options options, random jitter)
    : client_(client), signer_(located(std::move(where), client.peer())), keys_(std::move(keys)), clock_(time),
      options_(options),
      jitter_(jitter ? std::move(jitter) : quern::detail::random_part), quotas_{retry_quota(options.quota),
                                                                            retry_quota(options.quota)}
{
    quern::detail::throw_wrong(options_.validate());
}

template <class Signer>
void signed_service<Signer>::close()
{
    closed_ = true;
    waiting_.ring();
}

/// Takes the time that it lasts from what is left of the attempt's.
template <class Signer>
asio::awaitable<result<shared_credentials>> signed_service<Signer>::wait_for_keys(std::chrono::milliseconds& left)
{
    if (closed_) co_return failure(errc::stopped, "the client is closed");
    auto const asked = std::make_shared<question>(keys_, clock_, client_.get_executor());
    quern::detail::alarm_line::place const here(waiting_, asked->answered);
    auto found = co_await answer_to(asked, left);
    bool const is_answered = asked->answer.has_value();
    if (closed_ && !is_answered)
        co_return failure(errc::stopped, "the client was closed while waiting for credentials");
    co_return found;
}

template <class Signer>
asio::awaitable<result<shared_credentials>> signed_service<Signer>::find_keys(
    retries& rule, call_options how, std::chrono::milliseconds& left)
{
    // Their cache pauses between two loads: asked sooner it would only repeat why the last one failed.
    std::chrono::milliseconds pause = std::chrono::seconds(1);
    for (;; pause *= 2) {
        left = how.timeout;
        auto found = co_await wait_for_keys(left);
        if (found) co_return found;
        auto const over = co_await rest(rule.failed(found.error(), pause, jitter_()), found.error());
        if (over) co_return *over;
    }
}

/// Waits as advised. Nothing when the next attempt may begin, else what the call ends with.
template <class Signer>
asio::awaitable<std::optional<failure>> signed_service<Signer>::rest(retry_advice next, failure why)
{
    if (next.wait.count() > 0) {
        alarm awake(clock_, client_.get_executor());
        quern::detail::alarm_line::place const here(waiting_, awake);
        if (!closed_) co_await awake.wait(clock_.now() + next.wait);
        auto const state = co_await asio::this_coro::cancellation_state;
        if (closed_) co_return failure(errc::stopped, "the client was closed between two attempts");
        if (state.cancelled() != asio::cancellation_type::none) {
            co_return failure(errc::stopped, "cancelled between two attempts");
        }
    }
    if (next.is == retry_advice::verdict::again) co_return std::nullopt;
    co_return why;
}

template <class Signer>
std::string signed_service<Signer>::sign(letter const& what)
{
    auto const now = skew_.corrected(clock_.wall());
    return what.is_poll ? signer_.poll(what.operation, what.body, what.keys, now)
                        : signer_.request(what.operation, what.body, what.keys, now);
}

template <class Signer>
void signed_service<Signer>::read_date(net::response const& answer)
{
    auto const now = clock_.now();
    auto const wall = clock_.wall();
    if (theirs_->is_due(wall, now)) theirs_->look(answer.fields.find("date"), wall, now);
}

template <class Signer>
asio::awaitable<result<net::response>> signed_service<Signer>::call(
    std::string_view operation, std::string body, call_options how)
{
    retries rule(options_, quotas_[index(how.via)], how.long_poll);
    bool had_second_chance = false;
    std::optional<failure> unsure;
    try {
        for (;;) {
            auto keys = keys_->at_hand();
            auto left = how.timeout;
            if (!keys) {
                auto found = co_await find_keys(rule, how, left);
                bool const is_stopped = !found && found.error().code == errc::stopped;
                if (!found && unsure && !is_stopped) co_return quern::detail::and_then(*unsure, found.error());
                if (!found) co_return found.error();
                keys = std::move(*found);
            }
            net::request ask;
            letter const unsigned_one{operation, body, *keys, how.long_poll};
            ask.write = [this, &unsigned_one] { return sign(unsigned_one); };
            ask.via = how.via;
            ask.long_poll = how.long_poll;
            ask.timeout = how.long_poll ? how.timeout : left; // a poll cut short hides the messages that it misses
            ask.repeatable = how.repeatable;
            if (how.attempts) ++*how.attempts;
            auto answer = co_await client_.exchange(std::move(ask));
            if (answer) read_date(*answer);
            if (is_success(answer)) {
                rule.succeeded();
                co_return answer;
            }

            // Signed anew at once, the same call may be accepted: with fresh credentials, or with the right time.
            auto why = why_failed(answer);
            if (says_expired_credentials(why.service_code)) {
                auto const others = keys_->renew(keys);
                why.retryable = others != renewal::never;
                if (others != renewal::now || had_second_chance) co_return why;
                had_second_chance = true;
                continue;
            }
            auto const date = answer ? answer->fields.find("date") : std::string_view();
            if (!had_second_chance && skew_.learn(why, date, clock_.wall())) {
                had_second_chance = true;
                continue;
            }
            why.message += clock_skew::doubt(why, date, clock_.wall());
            if (may_have_acted(why)) unsure = why;
            auto const advice = rule.failed(why, hint_in(answer), jitter_());
            if (did_nothing(why) && unsure) why = quern::detail::and_then(*unsure, why);
            auto const over = co_await rest(advice, why);
            if (over && answer && how.refused) *how.refused = std::move(answer->body);
            if (over) co_return *over;
        }
    } catch (boost::system::system_error const& e) {
        // A cancellation that met no operation under way is thrown by the next co_await.
        if (e.code() != asio::error::operation_aborted) throw;
    }
    co_return failure(errc::stopped, "cancelled");
}

} // namespace quern::aws::detail
