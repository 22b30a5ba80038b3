#pragma once

#include <quern/sqs/batch.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace quern::sqs::detail {

/// Cuts entries of these sizes, in order, into calls: the number of entries of each. A call has at most 10 entries
/// and max_message_bytes; an entry above that stands alone.
std::vector<std::size_t> split(std::span<std::size_t const> sizes);

/// Brings an answer whose ids are positions 0 to count - 1 into their order.
outcomes join(std::size_t count, batch_response<done_entry> answer);
send_outcomes join(std::size_t count, send_message_batch_response answer);

} // namespace quern::sqs::detail
