#pragma once

#include <quern/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace quern::sqs {

/// A user attribute of a received message. Views into the answer's storage.
struct message_attribute {
    std::string_view name;
    std::string_view data_type;
    std::string_view value; ///< text, or the decoded bytes of a Binary

    bool is_binary() const { return data_type.starts_with("Binary"); }
};

/// A system attribute of a received message, as the service wrote it.
struct system_attribute {
    std::string_view name;
    std::string_view value;
};

/// A received message. Everything in it is a view into storage that the messages of one answer share:
/// nothing was copied, and it lives as long as the receive_message_response (or a copy of its `storage`) does.
struct message {
    std::string_view id;
    std::string_view receipt_handle; ///< of this receive; a later receive of the same message has another
    std::string_view body;
    std::string_view md5_of_body;
    std::string_view md5_of_attributes;              ///< empty when no user attribute was returned
    std::vector<system_attribute> system_attributes; ///< those asked for
    std::vector<message_attribute> attributes;       ///< those asked for

    /// Value of a system attribute ("MessageGroupId"); empty when it was not returned.
    std::string_view system(std::string_view name) const;

    /// The user attribute of that name, or nullptr.
    message_attribute const* attribute(std::string_view name) const;

    /// ApproximateReceiveCount: 1 on the first receive; 0 when it was not asked for or is no number.
    int receive_count() const;

    /// ApproximateFirstReceiveTimestamp and SentTimestamp; absent when not asked for or no number.
    std::optional<std::chrono::system_clock::time_point> first_received_at() const;
    std::optional<std::chrono::system_clock::time_point> sent_at() const;

    std::string_view group_id() const { return system("MessageGroupId"); }
};

/// A message that arrived and must not be handled: a digest does not match, or a part is missing or unreadable.
/// The service counts it as received all the same; left alone, it comes back after its visibility timeout.
struct damaged_message {
    std::size_t position = 0; ///< in the answer, counting whole and damaged messages together
    message known;            ///< what could be read; often enough to release or to count it
    failure why;              ///< errc::checksum_mismatch, or errc::bad_reply naming the member
};

/// The messages of one answer and the storage that they point into.
///
/// One damaged message does not take the others with it. On a FIFO queue the order is that of the answer:
/// a damaged message stands before those of its group that follow its position.
struct receive_message_response {
    std::vector<message> messages;        ///< 0 to 10, whole
    std::vector<damaged_message> damaged; ///< in the order of their position; nearly always empty
    std::shared_ptr<std::byte[]> storage;
};

} // namespace quern::sqs
