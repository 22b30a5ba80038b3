#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/net/message.hpp>
#include <quern/sqs/request_observer.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace quern::sqs {

/// A request under way, for whoever observes the client; without one it does nothing.
class request_watch {
public:
    request_watch(
        std::shared_ptr<request_observer> const& who, clock& time, std::string_view operation, std::size_t bytes)
        : who_(who.get()), time_(time)
    {
        if (!who_) return;
        seen_.operation = operation;
        seen_.bytes_sent = bytes;
        began_at_ = time_.now();
    }

    /// Where attempts are counted; null: nobody wants to know.
    int* attempts() { return who_ ? &seen_.attempts : nullptr; }

    void answered(net::response const& reply)
    {
        seen_.status = reply.status;
        seen_.bytes_received = reply.body.size();
        tell();
    }

    void failed(failure const& why)
    {
        seen_.status = why.http_status;
        seen_.why = &why;
        tell();
        seen_.why = nullptr; // it holds during the call
    }

private:
    void tell()
    {
        if (!who_) return;
        seen_.took = time_.now() - began_at_;
        try {
            who_->request_done(seen_);
        } catch (...) { // whoever waits for the answer must get it
        }
    }

    request_observer* const who_;
    clock& time_;
    observed_request seen_;
    tick began_at_{};
};

} // namespace quern::sqs
