#pragma once

#include <quern/sqs/message.hpp>
#include <quern/telemetry/trace_context.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace quern::relay {

/// Queue that messages come from, as requests tell of it.
struct queue_name {
    std::string name;   ///< "orders"
    std::string arn;    ///< "arn:aws:sqs:eu-west-1:000000000000:orders"
    std::string region; ///< "eu-west-1"

    /// Takes it from a queue's URL: "https://sqs.eu-west-1.amazonaws.com/000000000000/orders". `region`: for a URL
    /// that names none.
    static queue_name from_url(std::string_view url, std::string region);
};

/// A message, and where it is from.
struct letter {
    sqs::message const& message;
    queue_name const& queue;
    std::optional<telemetry::trace_context> trace{}; ///< to be passed on; absent: what the message says of itself
};

} // namespace quern::relay
