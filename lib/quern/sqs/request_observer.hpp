#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <cstddef>
#include <string_view>

namespace quern::sqs {

/// A request that is over. The views hold during the call.
struct observed_request {
    std::string_view operation;     ///< "ReceiveMessage"
    int status = 0;                 ///< of HTTP; 0 when there was no answer
    int attempts = 0;               ///< sent; 0 when there were no keys to sign with
    std::size_t bytes_sent = 0;     ///< of the body, of one attempt
    std::size_t bytes_received = 0; ///< of the body; 0 when it failed
    tick::duration took{};          ///< attempts and pauses between them, long polls included
    failure const* why = nullptr;   ///< null when it succeeded; entries of a batch may have failed all the same
};

/// Somebody who is told of each request of a client; see client_options::observer. Must not block; an exception is
/// swallowed.
///
/// Threads  the client's strand.
class request_observer {
public:
    virtual ~request_observer() = default;

    virtual void request_done(observed_request const&) {}
};

} // namespace quern::sqs
