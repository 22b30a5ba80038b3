#pragma once

#include <quern/broker/server.hpp>
#include <quern/net/live_door.hpp>
#include <quern/net/web_server.hpp>

#include <functional>
#include <string_view>

namespace quern::broker {

struct door_options {
    net::web_server_options web{}; ///< its max_body_bytes is the door's business

    bool admin = false; ///< lets in who looks at messages, and who changes queues

    /// Called after each change: "send", "purge" or "redrive", and the ARN of the queue.
    std::function<void(std::string_view action, std::string_view arn)> acted{};
};

/// Server that shows over HTTP what a broker does, beside its own port.
///
/// With `admin` as well, where QUEUE is a name, an ARN or a url:
///
///     GET  /messages?queue=QUEUE   the oldest hundred, or &most=N, at most 1,000; none is received
///     GET  /token                  what the rest has to bring in the header X-Quern-Token
///     POST /send?queue=QUEUE       the body is that of the message; &group=, &deduplication_id=, &delay=SECONDS
///     POST /purge?queue=QUEUE
///     POST /redrive?queue=QUEUE    a dead-letter queue's messages back to where they came from
///
/// An action is carried out by the same engine as requests are, under the same rules, and is answered once the
/// journal has it.
///
/// Lifetime  the server outlives the door.
/// Threads   those of the server's executor.
class door : public net::live_door {
public:
    /// Throws boost::system::system_error when an option is invalid.
    door(server&, door_options, clock& = real_clock());
};

/// The page. What stands in it is all that its policy lets a browser run.
std::string_view page();

} // namespace quern::broker
