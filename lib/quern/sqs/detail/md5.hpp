#pragma once

#include <quern/sqs/message.hpp>
#include <quern/sqs/types.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace quern::sqs::detail {

// The digests by which SQS lets both sides check what arrived, in lower-case hexadecimal.

/// MD5OfMessageBody, MD5OfBody.
std::string md5_of_body(std::string_view body);

/// MD5OfMessageAttributes and MD5OfMessageSystemAttributes: over the attributes in the order of their names, of each
/// the name, the data type with its label, a byte for text (1) or binary (2), and the value; what has a length has it
/// in front, as four bytes, the highest first (SQS developer guide, message metadata).
std::string md5_of_attributes(attribute_map const&);

/// The same of attributes as received, in any order. The service counts those that it returned.
std::string md5_of_attributes(std::vector<message_attribute> const&);

} // namespace quern::sqs::detail
