#pragma once

#include <quern/broker/detail/errors.hpp>
#include <quern/broker/detail/settings.hpp>
#include <quern/sqs/types.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::broker::detail {

// What the service refuses in a request, in its words. All of it can be told from the request and the queue's
// settings.

/// A message to be sent; within_batch changes what the service says about its size.
[[nodiscard]] std::optional<failure> check_message(
    sqs::send_message_entry const&, queue_settings const&, bool within_batch);

/// Ids for a FIFO queue, none of them for a standard queue but the group.
[[nodiscard]] std::optional<failure> check_fifo_ids(sqs::send_message_entry const&, queue_settings const&);

[[nodiscard]] std::optional<failure> check_receive(sqs::receive_message_request const&, queue_settings const&);
[[nodiscard]] std::optional<failure> check_visibility(sqs::seconds timeout);
[[nodiscard]] std::optional<failure> check_queue_name(std::string_view name, bool fifo);
[[nodiscard]] std::optional<failure> check_max_results(std::optional<int> value, int most);
[[nodiscard]] std::optional<failure> check_tags(sqs::string_map const& all_tags);

/// The ids of a batch's entries. `what` is the service's name for an entry: "SendMessageBatchRequestEntry".
[[nodiscard]] std::optional<failure> check_batch_ids(std::vector<std::string_view> const& ids, std::string_view what);

} // namespace quern::broker::detail
