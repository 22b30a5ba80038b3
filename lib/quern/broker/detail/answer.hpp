#pragma once

#include <quern/broker/detail/receipt.hpp>
#include <quern/broker/detail/stored_message.hpp>
#include <quern/sqs/message.hpp>

#include <span>
#include <string_view>

namespace quern::broker {

/// The answer of a receive: what was asked for of each message, copied once into storage that the answer owns, with a
/// receipt handle for its newest receive.
sqs::receive_message_response pack(std::span<stored_message* const> messages,
    sqs::receive_message_request const& asked, receipt_codec const&, std::uint64_t queue, std::string_view sender_id);

} // namespace quern::broker
