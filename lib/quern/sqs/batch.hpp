#pragma once

#include <quern/sqs/api.hpp>

#include <vector>

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

} // namespace quern::sqs
