#pragma once

#include <quern/core/error.hpp>
#include <quern/sqs/types.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::broker::detail {

/// After how many receives a message goes to which dead-letter queue.
struct redrive_policy {
    std::string target_arn;
    int max_receive_count = 10;
};

/// Which queues may name this one as their dead-letter queue.
struct redrive_allow_policy {
    enum class permission { allow_all, deny_all, by_queue };
    permission who = permission::allow_all;
    std::vector<std::string> source_arns; ///< by_queue: at most 10

    bool allows(std::string_view source_arn) const;
};

/// Attributes that CreateQueue and SetQueueAttributes can set, with the service's defaults (SQS API reference).
struct queue_settings {
    bool fifo = false; ///< never changes

    int delay = 0; ///< s
    int maximum_message_size = 1'048'576;
    int retention = 345'600;     ///< s
    int wait_time = 0;           ///< s
    int visibility_timeout = 30; ///< s
    bool content_based_deduplication = false;
    bool deduplicate_per_group = false;
    bool throughput_per_group = false;
    bool managed_sse = true;
    std::string kms_key;
    int kms_reuse = 300; ///< s
    std::string policy;
    std::optional<redrive_policy> redrive;
    std::optional<redrive_allow_policy> redrive_allow;
};

/// Length of a Policy, at most (SQS developer guide, quotas related to policies).
inline constexpr std::size_t max_policy_bytes = 8192;

/// A boolean attribute, in letters of either case; absent when it is neither true nor false.
std::optional<bool> flag_of(std::string_view value);

/// Sets all the attributes or none. The failure is the service's: InvalidAttributeName, InvalidAttributeValue or
/// InvalidParameterValue. Whether a dead-letter queue exists is not looked at.
[[nodiscard]] std::optional<failure> apply(queue_settings&, sqs::string_map const& attributes);

/// The value of a settable attribute as GetQueueAttributes shows it; absent when it is unset, when it has a default
/// that is not shown, and for names that are not settable on this type of queue.
std::optional<std::string> text_of(queue_settings const&, std::string_view attribute);

/// All settable attributes that are shown.
sqs::string_map texts_of(queue_settings const&);

/// Whether SQS knows a queue attribute of that name, settable or not. "All" is none.
bool is_queue_attribute(std::string_view name);

} // namespace quern::broker::detail
