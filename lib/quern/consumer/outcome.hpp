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
#include <string_view>
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
    outcome(kind what, std::string reason) : what_(what)
    {
        words own;
        own.reason = std::move(reason);
        words_ = std::make_shared<words const>(std::move(own));
    }
    outcome(kind what, wall_time at) : what_(what), at_(at) {}

    kind what() const { return what_; }
    std::chrono::milliseconds delay() const { return delay_; }
    std::optional<wall_time> at() const { return at_; } ///< of retry_at(), in place of a delay
    std::string reason() const { return words_ ? words_->reason.value_or(std::string()) : std::string(); }

    /// The same for the message, and other news for the breaker: a retry() that only this message is to blame for, a
    /// retry_after() that tells of an outage.
    outcome telling(news what) const
    {
        auto out = *this;
        out.news_ = what;
        return out;
    }
    news tells() const { return news_; }

    /// The same with what the handler has found, for the log and for observers: the answer of a web service, why it
    /// failed. `status`: of that answer, or of a command; 0: neither. Said of a retry() or an unavailable(), it is
    /// logged; it is part of the reason when max_tries or max_age rejects the message.
    outcome because(std::string found, int status = 0) const
    {
        auto out = *this;
        auto own = words_ ? *words_ : words();
        own.found = std::move(found);
        own.status = status;
        out.words_ = std::make_shared<words const>(std::move(own));
        return out;
    }

    /// Text and status of because(); empty and 0 without. The view holds as long as this outcome.
    std::string_view found() const { return words_ ? std::string_view(words_->found) : std::string_view(); }
    int status() const { return words_ ? words_->status : 0; }

    /// A reject() that puts the message off where there is no queue for it, in place of deleting it.
    outcome unless_deleted() const
    {
        auto out = *this;
        out.kept_ = true;
        return out;
    }
    bool is_kept() const { return kept_; }

    /// A retry() with this delay in place of that of the backoff: a failure all the same, also of the head of a FIFO
    /// group.
    outcome waiting(std::chrono::milliseconds delay) const
    {
        auto out = *this;
        out.delay_ = delay;
        out.waits_ = true;
        return out;
    }
    std::optional<std::chrono::milliseconds> waits() const { return waits_ ? std::optional(delay_) : std::nullopt; }

    /// The thing that is down, of unavailable(key).
    std::optional<std::string> dependency() const
    {
        return what_ == kind::unavailable && words_ ? words_->reason : std::nullopt;
    }

private:
    struct words {
        std::optional<std::string> reason; // of reject(), or the key of unavailable()
        std::string found;
        int status = 0;
    };

    kind what_ = kind::retry;
    news news_ = news::usual;
    bool waits_ = false, kept_ = false;
    std::chrono::milliseconds delay_{};
    std::optional<wall_time> at_;
    std::shared_ptr<words const> words_; // apart: a frame that waits for an outcome has room for several
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

/// Tries the message again, not before `at`; at once when that is past. Bounded like retry_after(): if `at` is more
/// than 12 hours away, the message comes back earlier, and its handler must return retry_at() again. Each time costs
/// one of the receives that the queue's redrive policy counts.
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

/// Names the dependency that is down, beside what unavailable() says. The message's own dependency, which
/// outage_options::dependency has named, does not count as down. The message counts as one that needs `key` until it
/// is retried.
inline outcome unavailable(std::string key)
{
    return outcome(outcome::kind::unavailable, std::move(key));
}

/// Thrown by a handler: the message cannot be understood. A verdict of its own, see consumer_options::on_malformed.
class parse_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Thrown by a handler: a failure with a status, of a command or of a web service, for the log and for observers.
class handler_error : public std::runtime_error {
public:
    handler_error(std::string const& what, int status) : std::runtime_error(what), status_(status) {}

    int status() const { return status_; }

private:
    int status_;
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
