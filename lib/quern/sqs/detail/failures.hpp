#pragma once

#include <quern/core/error.hpp>
#include <quern/sqs/types.hpp>

#include <string_view>

namespace quern::sqs::detail {

/// batch_failure::code of an entry whose answer carries a digest that does not match what was sent: this client's
/// own, the service believes that it stored the message.
inline constexpr std::string_view checksum_mismatch_code = "ChecksumMismatch";

/// Gives a service error the code that its service code stands for: errc::receipt_expired for a receipt handle that
/// no longer stands for a receive (and cannot be used again, so `retryable` goes); errc::throttled, and retryable,
/// for all that asks for fewer requests, or messages in flight (OverLimit, which no SDK tries again within a call);
/// else unchanged.
failure refine(failure);

/// Why one entry of a batch call failed, in the terms of a whole call.
failure entry_failure(batch_failure);

} // namespace quern::sqs::detail
