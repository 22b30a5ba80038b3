#pragma once

#include <quern/core/error.hpp>
#include <quern/sqs/api.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace quern::sqs {

// Queues as people refer to them: by URL, by name, or by ARN. SQS itself takes URLs only; GetQueueUrl finds them.

/// True for "https://sqs.eu-west-1.amazonaws.com/123456789012/orders", false for a name and an ARN.
bool is_queue_url(std::string_view queue);

/// Parts of "arn:aws:sqs:eu-west-1:123456789012:orders", as views into it.
struct queue_arn {
    std::string_view region, account, name;
};

/// Reads an ARN of a queue. Nothing for any other text.
std::optional<queue_arn> queue_arn_in(std::string_view queue);

/// "orders", of a URL or an ARN that ends so; a name is its own.
std::string_view queue_name_in(std::string_view queue);

/// The same queue's neighbour: `name`, referred to as `queue` is.
std::string sibling_of(std::string_view queue, std::string_view name);

/// The problem of a text that can be no queue's URL, name or ARN. `option` is where it was given.
[[nodiscard]] std::optional<failure> check_queue(std::string_view option, std::string_view queue);

/// The problem of an ARN of another region than that of the client, which would not know the queue. Nothing where
/// either is not known.
[[nodiscard]] std::optional<failure> check_region(std::string_view queue, std::string_view clients_region);

/// Completes with the URL of a queue: at once for a URL, else by GetQueueUrl, for which the keys need
/// sqs:GetQueueUrl. An ARN's account owns the queue; a name's is the client's own.
///
/// Fails with    errc::invalid_option  an ARN that is none of a queue, or of another region than api::region()
///               errc::service_error   and others, as GetQueueUrl does: NonExistentQueue when there is no such queue
/// Cancellation  terminal.
/// Lifetime      `api` outlives it.
/// Threads       as the api.
answer<std::string> find_queue_url(api&, std::string queue);

} // namespace quern::sqs
