#pragma once

#include <quern/consumer/forwarding_observer.hpp>
#include <quern/telemetry/log.hpp>

#include <memory>
#include <string>
#include <unordered_map>

namespace quern::app {

/// Logs a line for each message that a consumer is done with:
///
///     message 9f0c…: try 3, HTTP 503, 12 ms; again in 4 s
///
/// Holds what the last handler of each message said from its end to the message's.
class message_log final : public forwarding_observer {
public:
    message_log(std::string queue_url, log_level, log_sink to, std::shared_ptr<observer> next);

    void ended(observed_message const&, handler_end, outcome::kind verdict) override;
    void settled(observed_message const&, message_end, std::chrono::seconds again) override;

private:
    struct words {
        std::string said;
        int status = 0;
    };

    std::string const queue_;
    log_level const level_;
    log_sink const to_;
    std::unordered_map<std::string, words> said_;
};

/// A log of several consumers, whose lines begin with the name of their queue.
log_sink naming_queues(log_sink to);

} // namespace quern::app
