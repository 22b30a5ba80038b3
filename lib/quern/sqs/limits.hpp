#pragma once

#include <quern/core/error.hpp>
#include <quern/sqs/types.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace quern::sqs {

// Limits of the service: SQS API reference (SendMessage, ReceiveMessage, ChangeMessageVisibility) and SQS developer
// guide, quotas. Those of a queue's own settings (a smaller MaximumMessageSize) only the service knows.

inline constexpr std::size_t max_message_bytes = 1'048'576; ///< of a message, and of the entries of a batch together
inline constexpr std::size_t max_batch_entries = 10;
inline constexpr std::size_t max_batch_messages = 10; ///< that one ReceiveMessage may return
inline constexpr std::size_t max_attributes = 10;
inline constexpr std::size_t max_attribute_name = 256; ///< characters; of the data type too
inline constexpr std::size_t max_entry_id = 80;
inline constexpr std::size_t max_queue_name = 80;
inline constexpr std::size_t max_token = 128; ///< group, deduplication and receive attempt ids
inline constexpr seconds max_delay{900};
inline constexpr seconds max_wait_time{20};
inline constexpr seconds max_visibility{43'200};

/// Size that counts against max_message_bytes: the body and, of each user attribute, name, data type and value. A
/// Binary counts its raw bytes; system attributes do not count.
std::size_t message_size(std::string_view body, attribute_map const& attributes);

/// UTF-8 of the characters that a body or a text attribute may have: tab, line feed, carriage return, and from
/// U+0020 all but surrogates, U+FFFE and U+FFFF.
bool is_message_text(std::string_view);

/// A user attribute's name: at most 256 letters, digits, '_', '-' and '.', no '.' at an end, no two in a row, not
/// beginning with "AWS." or "Amazon." in any case. The service has been seen to take letters beyond ASCII, so they
/// pass.
bool is_attribute_name(std::string_view);

/// "String", "Number" or "Binary", each optionally with ".label", at most 256 characters.
bool is_attribute_type(std::string_view);

/// 1 to 80 of [A-Za-z0-9_-].
bool is_entry_id(std::string_view);

/// 1 to 80 of [A-Za-z0-9_-], of which the last five may be ".fifo".
bool is_queue_name(std::string_view);

/// 1 to 128 printable ASCII characters without space: group, deduplication and receive attempt ids.
bool is_token(std::string_view);

/// Refuse before sending what the service would refuse and what can be told from the request alone. The failure is
/// errc::invalid_request and names the field as the service does: "Entries[2].DelaySeconds: …".
[[nodiscard]] std::optional<failure> check(send_message_request const&);
[[nodiscard]] std::optional<failure> check(send_message_batch_request const&);
[[nodiscard]] std::optional<failure> check(receive_message_request const&);
[[nodiscard]] std::optional<failure> check(delete_message_batch_request const&);
[[nodiscard]] std::optional<failure> check(change_message_visibility_request const&);
[[nodiscard]] std::optional<failure> check(change_message_visibility_batch_request const&);
[[nodiscard]] std::optional<failure> check(create_queue_request const&);

/// One entry by itself, without its id.
[[nodiscard]] std::optional<failure> check(send_message_entry const&);
[[nodiscard]] std::optional<failure> check(delete_message_entry const&);
[[nodiscard]] std::optional<failure> check(change_visibility_entry const&);

} // namespace quern::sqs
