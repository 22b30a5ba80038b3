#pragma once

#include <quern/core/clock.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quern::app {

/// The fate of each of so many messages, numbered from 0. A message is acknowledged when the service has confirmed
/// that it was deleted.
class tally {
public:
    explicit tally(std::size_t messages) : messages_(messages) {}

    void given(std::size_t number, tick now); ///< to be sent
    void sent(std::size_t number, bool taken);
    void handle(std::size_t number, std::string_view message_id);
    void deleted(std::string_view message_id, tick now);

    std::size_t sent() const { return sent_; }
    std::size_t acked() const { return acked_; }
    std::size_t duplicates() const { return duplicates_; }
    std::size_t outstanding() const { return given_ - refused_ - acked_; }

    /// Sent and not acknowledged.
    std::size_t missing() const;

    tick first_given_at() const { return first_given_at_; }
    tick last_acked_at() const { return last_acked_at_; }

    /// From given() to deleted() of those that were, in milliseconds: the least time that this part of them, 0 to 1,
    /// did not exceed. 0 when there are none.
    double latency(double part) const;

private:
    struct fate {
        tick given_at;
        tick acked_at;
        bool sent = false, handled = false, acked = false;
    };
    std::vector<fate> messages_;
    std::unordered_map<std::string, std::size_t> numbers_; // by message id, of what was handled
    std::size_t given_ = 0, refused_ = 0, sent_ = 0, acked_ = 0, duplicates_ = 0;
    tick first_given_at_, last_acked_at_;
};

} // namespace quern::app
