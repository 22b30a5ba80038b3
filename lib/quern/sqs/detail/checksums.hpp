#pragma once

#include <quern/core/error.hpp>
#include <quern/sqs/message.hpp>
#include <quern/sqs/types.hpp>

#include <optional>

namespace quern::sqs::detail {

// Compare what was sent or received with the digests in the answer. A digest that the answer leaves out, and one for
// attributes of which there are none, is not missed.

/// errc::checksum_mismatch when the service stored something else than was sent. Not retryable: it did store it.
[[nodiscard]] std::optional<failure> verify(send_message_request const&, send_message_response const&);

/// Moves the entries that the service stored wrongly from `successful` to `failed`, as checksum_mismatch_code.
void verify(send_message_batch_request const&, send_message_batch_response&);

/// Moves the messages that arrived other than they were stored from `messages` to `damaged`.
void verify(receive_message_response&);

} // namespace quern::sqs::detail
