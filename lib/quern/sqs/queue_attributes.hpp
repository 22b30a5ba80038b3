#pragma once

#include <quern/core/error.hpp>
#include <quern/sqs/types.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace quern::sqs {

// Parts of the answer to GetQueueAttributes that tell of a queue's depth and of its redrive policy.

/// The messages of a queue. On Amazon's SQS these numbers may lag by a minute.
struct queue_depth {
    std::size_t visible = 0, in_flight = 0, delayed = 0;

    std::size_t total() const { return visible + in_flight + delayed; }
};

/// The attributes to ask for, if it is not for "All".
std::vector<std::string> depth_attributes();

/// Fails with  errc::bad_reply  a number is missing
result<queue_depth> depth_in(string_map const& attributes);

/// Content of a RedrivePolicy.
struct redrive_policy {
    int max_receives = 0;        ///< 0: the queue has no policy
    std::string dead_letter_arn; ///< empty: the queue has no policy
};

/// Fails with  errc::bad_reply  there is a policy, but one of its two members is missing or cannot be read: a queue
/// with a dead-letter queue must not be taken for one without
result<redrive_policy> redrive_policy_in(string_map const& attributes);

} // namespace quern::sqs
