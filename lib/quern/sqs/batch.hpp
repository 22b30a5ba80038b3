#pragma once

#include <quern/sqs/api.hpp>

#include <span>

namespace quern::sqs {

// Batches without their bookkeeping: entries go in, one result comes out for each, by position. Whatever `id` the
// entries carry is replaced by their position.
//
// An entry that breaks a limit fails with errc::invalid_request and is not sent; the others are. The failure of a
// whole call is the failure of each of its entries. An entry that the answer names neither as done nor as failed, or
// twice, fails with errc::not_confirmed: it may have been carried out.

using outcomes = std::vector<result<void>>;
using send_outcomes = std::vector<result<send_message_response>>;

/// One call: at most 10 entries, and for messages 1 MiB together. No entries, no call.
///
/// Cancellation, lifetime, threads  as for the operation of `api`.
boost::asio::awaitable<send_outcomes> send_batch(api&, std::string queue_url, std::vector<send_message_entry>);
boost::asio::awaitable<outcomes> delete_batch(api&, std::string queue_url, std::vector<std::string> receipt_handles);
boost::asio::awaitable<outcomes> change_visibility_batch(
    api&, std::string queue_url, std::vector<change_visibility_entry>);

/// Cuts entries of these sizes, in order, into calls: the number of entries of each. A call has at most 10 entries
/// and max_message_bytes; an entry above that stands alone.
std::vector<std::size_t> split(std::span<std::size_t const> sizes);

/// Brings an answer whose ids are positions 0 to count - 1 into their order.
outcomes join(std::size_t count, batch_response<done_entry> answer);
send_outcomes join(std::size_t count, send_message_batch_response answer);

} // namespace quern::sqs
