#pragma once

#include <chrono>

namespace quern {

/// What a handler wants done with its message. Made by ack(), retry(), retry_after() and release().
class outcome {
public:
    enum class kind { ack, retry, retry_after, release };

    explicit outcome(kind what, std::chrono::milliseconds delay = {}) : what_(what), delay_(delay) {}

    kind what() const { return what_; }
    std::chrono::milliseconds delay() const { return delay_; }

private:
    kind what_;
    std::chrono::milliseconds delay_;
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

/// Not for this consumer, or not now: visible again at once, without delay.
inline outcome release()
{
    return outcome(outcome::kind::release);
}

} // namespace quern
