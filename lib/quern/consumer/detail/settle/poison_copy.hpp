#pragma once

#include <quern/consumer/detail/message/held.hpp>
#include <quern/sqs/types.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace quern::detail {

/// Copies that go to the poison queue in place of rejected messages. A copy has the message's body, its attributes
/// and trace header, and what happened to it, as attributes of their own. These give way, the last first, where the
/// message leaves no room for them: SQS allows ten attributes, and 1 MiB with the body.
///
///     QuernReason                           why it was rejected; in place of that of an earlier rejection
///     QuernOriginalId                       its id on the queue where it was rejected first
///     QuernSource                           the name of the queue that it was consumed from
///     QuernReceiveCount                     how often it was received there
///     x-original-first-receive-timestamp    when it was first, as RFC 3339; kept where it has one
class poison_copies {
public:
    poison_copies(std::string_view queue_url, std::string_view poison_queue_url);

    void add(held const&);

    /// The copies, in their order, cut into calls.
    std::vector<std::vector<sqs::send_message_entry>> take();

private:
    std::string const source_;
    bool const fifo_;
    std::vector<sqs::send_message_entry> copies_;
};

} // namespace quern::detail
