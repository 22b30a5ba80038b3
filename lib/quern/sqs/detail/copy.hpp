#pragma once

#include <quern/core/clock.hpp>
#include <quern/sqs/message.hpp>
#include <quern/sqs/types.hpp>

#include <string>
#include <string_view>

namespace quern::sqs::detail {

/// Names of the attributes in which a message carries what happened to it from queue to queue.
namespace mark {
inline constexpr std::string_view reason = "QuernReason";          ///< why it was rejected or isolated
inline constexpr std::string_view original_id = "QuernOriginalId"; ///< its id on the queue where that happened first
inline constexpr std::string_view source = "QuernSource"; ///< the name of the queue that it was consumed from
inline constexpr std::string_view receive_count = "QuernReceiveCount";
inline constexpr std::string_view attempt = "x-redrive-attempt"; ///< how often it was sent back to be tried again
inline constexpr std::string_view first_received = "x-original-first-receive-timestamp"; ///< RFC 3339
} // namespace mark

/// An entry that sends the same: body, attributes of every type, trace header. Without a group, a deduplication id
/// and a delay, which depend on the queue that it goes to.
send_message_entry copy_of(message const&);

/// Sets the attribute, unless its value is empty, it is there and `replace` is false, or it leaves the entry with
/// more than ten attributes or 1 MiB. Returns whether it is set.
bool set_if_it_fits(send_message_entry&, std::string_view name, attribute_value, bool replace);

/// "2026-01-02T03:04:05.678Z"
std::string rfc3339_ms(wall_time);

} // namespace quern::sqs::detail
