#pragma once

#include <quern/consumer/consumer.hpp>
#include <quern/sqs/api.hpp>
#include <quern/sqs/queue_attributes.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace quern::app {

sqs::answer<sqs::queue_depth> queue_depth(sqs::api&, std::string queue_url);

/// The URL of a queue that is there. `must_count`: not being allowed to look at its messages is a failure as well.
sqs::answer<std::string> existing_queue(sqs::api&, std::string queue, bool must_count = false);

/// Tells when a queue has run empty under its consumer: a receive came back empty, nothing is held here, and the
/// queue counts no message, be it visible, in flight or delayed.
///
/// Threads  the consumer's executor.
class empty_watch {
public:
    empty_watch(sqs::api& api, std::string queue_url) : sqs_(api), queue_url_(std::move(queue_url)) {}

    /// Asks the queue only when a receive has come back empty since the last time.
    sqs::answer<bool> is_empty(consumer const&);

    /// The same, and it stays so while the consumer receives nothing: where others have to be found empty too.
    sqs::answer<bool> stays_empty(consumer const&);

private:
    sqs::api& sqs_;
    std::string queue_url_;
    std::uint64_t empty_polls_ = 0;         // seen
    std::optional<std::uint64_t> received_; // when it was empty last
};

} // namespace quern::app
