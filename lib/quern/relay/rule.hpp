#pragma once

#include <quern/core/clock.hpp>
#include <quern/policy/backoff.hpp>
#include <quern/relay/status_set.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace quern::relay {

/// How far a request has come. The message's fate hangs on what may have been done.
enum class reach {
    answered,   ///< the answer is here, whole
    cut_off,    ///< its status is here, its body broke off or is beyond the limit
    unanswered, ///< sent, at least partly, and no status came: it may have been carried out
    not_sent,   ///< no byte of the request reached the web service: it has no address, refuses, or TLS failed
    not_asked,  ///< no connection came free here, which says nothing of the web service
    unbuildable ///< no request can be made of this message: a template lacks what it names
};

/// Word that the body of an answer has, where the format gives it a say.
enum class body_says {
    nothing, ///< the status decides
    failed,  ///< this message was not handled: it is named among the failures
    error,   ///< the function threw
    unreadable
};

/// End of a request, as far as the rule looks at it.
struct ending {
    reach how = reach::answered;
    int status = 0;
    std::string retry_after, date, location; ///< headers of the answer, empty without
    std::string error;                       ///< in words, where there is no whole answer
    body_says body = body_says::nothing;
};

enum class action {
    ack,         ///< delete
    retry,       ///< put off
    reject,      ///< to the poison queue, or deleted where there is none
    unavailable, ///< the web service is down: nothing wrong with the message
    halt,        ///< give it back and drain: somebody must look
};

/// News about the web service, for the breaker.
enum class news {
    good,
    none, ///< this message's own affair
    bad,  ///< counts with others of its kind
    down, ///< the service does not answer, or says that it is down
};

/// Fate of the message, and what follows besides.
struct decision {
    action what = action::retry;
    news about_service = news::none;
    std::optional<std::chrono::milliseconds> after; ///< of retry; absent: by the backoff
    std::optional<policy::backoff> by{};            ///< of retry without `after`; absent: the consumer's
    std::optional<int> tries{};  ///< of retry: rejected once it was received so often; absent: never
    bool in_vain = false;        ///< retried although the status says that no try will help: worth a warning
    bool maybe_done = false;     ///< the service may have done the work
    bool is_unbuildable = false; ///< of reject: no request can be made of the message
    std::string reason;          ///< for the log, and for the poison queue
};

/// A line of the user's own: `[[relay.rule]]`.
struct rule_line {
    status_set status;
    action what = action::retry;
    std::string reason;                             ///< empty: the status
    std::optional<std::chrono::milliseconds> after; ///< of retry
    std::optional<policy::backoff> by{};            ///< of retry, instead of `after`: grows with the receive count
    std::optional<int> tries{}; ///< of retry: rejected once it was received so often; absent: never
};

/// Meaning of statuses. The lines come first, the first match wins; then success, reject, unavailable, retry. What is
/// in none of them is retried all the same: a mistaken deletion cannot be taken back.
struct rules {
    std::vector<rule_line> lines;
    status_set success{"2xx"};
    status_set reject;
    status_set unavailable{"401,403,407,410,502-504"};
    status_set retry{"408,425,429,5xx"};

    /// Delay of every retry that no Retry-After and no line gives one; absent: the backoff.
    std::optional<std::chrono::milliseconds> usual_delay;

    /// Longest delay that an answer may ask for with Retry-After; it is cut to this. 12 hours: what SQS allows.
    std::chrono::milliseconds longest_asked{std::chrono::hours(12)};

    /// Somebody reads the bodies of answers, so that of a success has to be whole. Where nobody does, its status is
    /// enough: asking again would have the work done twice.
    bool needs_body = false;

    /// Decides. `receive_left`: what is left of the 12 hours for which SQS lets this receive hide the message.
    decision decide(ending const&, wall_time now, std::chrono::milliseconds receive_left) const;

private:
    decision decide_by_status(ending const&, wall_time now) const;
};

/// The delay that a Retry-After header asks for: seconds, with a fraction, or an HTTP date, which is compared with
/// the answer's Date where that can be read, because clocks differ. Nothing: it says none that is in the future.
std::optional<std::chrono::milliseconds> asked_delay(
    std::string const& retry_after, std::string const& date, wall_time now);

} // namespace quern::relay
