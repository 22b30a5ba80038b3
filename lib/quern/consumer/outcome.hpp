#pragma once

#include <quern/consumer/answer_frame.hpp>
#include <quern/core/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace quern {

/// A handler's wish for its message. Made by ack(), retry(), retry_after(), retry_at(),
/// release(), reject() and unavailable(). A handler has to return it: made and not returned it says nothing, and the
/// compiler warns.
class [[nodiscard]] outcome {
public:
    enum class kind {
        retry,
        ack,
        retry_after,
        release,
        reject,
        unavailable
    }; // what nobody has set must delete nothing

    /// News about what the handler depends on: by its kind a retry() is bad news, an unavailable() says that it is
    /// down, and a retry_after() is none.
    enum class news : unsigned char { usual, none, bad, down };

    outcome() = default; ///< retry()
    explicit outcome(kind what, std::chrono::milliseconds delay = {}) : what_(what), delay_(delay) {}
    outcome(kind what, std::string reason) : what_(what), reason_(std::make_shared<std::string>(std::move(reason))) {}
    outcome(kind what, wall_time at) : what_(what), at_(at) {}

    kind what() const { return what_; }
    std::chrono::milliseconds delay() const { return delay_; }
    std::optional<wall_time> at() const { return at_; } ///< of retry_at(), in place of a delay
    std::string reason() const { return reason_ ? *reason_ : std::string(); }

    /// The same for the message, and other news for the breaker: a retry() that only this message is to blame for, a
    /// retry_after() that tells of an outage.
    outcome telling(news what) const
    {
        auto out = *this;
        out.news_ = what;
        return out;
    }
    news tells() const { return news_; }

    /// The thing that is down, of unavailable(key).
    std::optional<std::string> dependency() const
    {
        if (what_ != kind::unavailable || !reason_) return {};
        return *reason_;
    }

private:
    kind what_ = kind::retry;
    news news_ = news::usual;
    std::chrono::milliseconds delay_{};
    std::optional<wall_time> at_;
    std::shared_ptr<std::string const> reason_; // apart: a frame that waits for an outcome has room for several
};

/// Done: delete the message.
inline outcome ack()
{
    return outcome(outcome::kind::ack);
}

/// Failed: the backoff policy decides when the message is tried again.
inline outcome retry()
{
    return outcome(outcome::kind::retry);
}

/// Not before `delay` from now. Rounded up to whole seconds; bounded by what is left of the 12 hours for which
/// SQS lets a receive hide a message.
inline outcome retry_after(std::chrono::milliseconds delay)
{
    return outcome(outcome::kind::retry_after, delay);
}

/// Not before `at`; at once when that is past. Bounded like retry_after(): a message for a later time than that comes
/// earlier, and its handler says so again. Each time costs one of the receives that the queue's redrive policy
/// counts.
inline outcome retry_at(wall_time at)
{
    return outcome(outcome::kind::retry_after, at);
}

/// Gives the message back, which is not for this consumer, or not now: visible again at once; after a second where
/// this consumer has just released it before.
inline outcome release()
{
    return outcome(outcome::kind::release);
}

/// Trying again cannot help: off to options.poison_queue, without one to the dead-letter queue, or deleted when
/// there is neither. `reason` is logged and goes along as a message attribute.
inline outcome reject(std::string reason)
{
    return outcome(outcome::kind::reject, std::move(reason));
}

/// A dependency of the handler is down: no fault of the message, which comes again after consumer_options::backoff;
/// while the breaker is open after 30 s, or after as long as the outage has lasted, 15 minutes at most. When ten
/// or more new messages in a row say so, a tenth of those that need the same goes on until one succeeds; see
/// consumer_options::outage.
inline outcome unavailable()
{
    return outcome(outcome::kind::unavailable);
}

/// The same, of something else than what outage_options::dependency has named for the message, on whose own
/// dependency this is no news. The message counts as one that needs `key` until it has been put off.
inline outcome unavailable(std::string key)
{
    return outcome(outcome::kind::unavailable, std::move(key));
}

/// Thrown by a handler: the message cannot be understood. A verdict of its own, see consumer_options::on_malformed.
class parse_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

} // namespace quern

// The coroutines that return outcomes, all of them: whoever names `outcome` has seen this.
template <>
class boost::asio::detail::awaitable_frame<quern::outcome, boost::asio::any_io_executor>
    : public quern::detail::answer_frame<quern::outcome> {
public:
    awaitable<quern::outcome> get_return_object() noexcept
    {
        coro_ = coroutine_handle<awaitable_frame>::from_promise(*this);
        return awaitable<quern::outcome>(this);
    }
};

template <>
class boost::asio::detail::awaitable_frame<std::vector<quern::outcome>, boost::asio::any_io_executor>
    : public quern::detail::answer_frame<std::vector<quern::outcome>> {
public:
    awaitable<std::vector<quern::outcome>> get_return_object() noexcept
    {
        coro_ = coroutine_handle<awaitable_frame>::from_promise(*this);
        return awaitable<std::vector<quern::outcome>>(this);
    }
};
