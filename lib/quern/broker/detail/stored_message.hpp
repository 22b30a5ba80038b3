#pragma once

#include <quern/broker/detail/agenda.hpp>
#include <quern/broker/detail/hex16.hpp>
#include <quern/broker/journal.hpp>
#include <quern/sqs/types.hpp>

#include <boost/intrusive/set.hpp>
#include <boost/intrusive/unordered_set_hook.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace quern::broker::detail {

class queue;

// Where a queue keeps a message.
using in_few_bytes = boost::intrusive::optimize_size<true>;
using order_hook = boost::intrusive::set_base_hook<boost::intrusive::tag<struct order_tag>, in_few_bytes>;
using age_hook = boost::intrusive::set_base_hook<boost::intrusive::tag<struct age_tag>, in_few_bytes>;
using table_hook = boost::intrusive::unordered_set_base_hook<boost::intrusive::tag<struct table_tag>>;

/// Bytes that never change, in exactly the memory that they need. A std::string takes twice as much beside them.
class packed_bytes {
public:
    packed_bytes() = default;
    packed_bytes(std::string_view from) // implicit: it is a text in another place
        : bytes_(std::make_unique_for_overwrite<char[]>(from.size())), size_(static_cast<std::uint32_t>(from.size()))
    {
        if (!from.empty()) std::memcpy(bytes_.get(), from.data(), from.size());
    }

    operator std::string_view() const { return {bytes_.get(), size_}; }
    std::size_t size() const { return size_; }

private:
    std::unique_ptr<char[]> bytes_;
    std::uint32_t size_ = 0; ///< a message has at most 1 MiB
};

/// Rare parts of a message; most messages of standard queues have none of them.
struct message_extras {
    sqs::attribute_map attributes;
    std::string md5_of_attributes; ///< of all of them
    std::string trace_header;      ///< AWSTraceHeader
    std::string group_id;
    std::string deduplication_id; ///< FIFO queues
    std::string sequence_number;  ///< FIFO queues
    std::string source_arn;       ///< in a dead-letter queue: where it came from
};

/// A message in a queue. On the agenda while it is delayed or in flight. Queues hold many: what can be small is
/// small.
struct stored_message : timed, order_hook, age_hook, table_hook {
    stored_message() : timed(kind::message) {}

    // Who sent what.
    hex16 id;
    hex16 md5_of_body;
    packed_bytes body;
    std::unique_ptr<message_extras> extras; ///< null: none
    wall_time sent_at{};

    message_extras const& rest() const
    {
        static message_extras const none;
        return extras ? *extras : none;
    }
    message_extras& own_rest()
    {
        if (!extras) extras = std::make_unique<message_extras>();
        return *extras;
    }

    // Where it is.
    queue* home = nullptr;
    std::uint64_t number = 0;  ///< distinct for every message of the engine
    std::uint64_t order = 0;   ///< among the messages of a queue: smaller comes first
    void* lane = nullptr;      ///< of its delivery_order
    wall_time retained_from{}; ///< the retention period counts from here

    // Who received it.
    std::uint64_t receive = 0; ///< the newest receive, distinct for every receive of the engine
    wall_time first_received_at{};
    wall_time received_at{}; ///< the newest receive: the visibility horizon counts from here
    int receive_count = 0;   ///< in all queues
    std::uint16_t receives_here =
        0;                ///< in this queue: against maxReceiveCount, at most 1000; stays at its greatest value
    bool changed = false; ///< its visibility was changed since the newest receive
    message_state state = message_state::visible;
};
static_assert(sizeof(stored_message) <= 232); // with the allocator's own eight bytes 240, which is what one costs

/// Messages of a queue, or of a part of it, by stored_message::order.
struct by_order {
    bool operator()(stored_message const& a, stored_message const& b) const { return a.order < b.order; }
};
using ordered_messages = boost::intrusive::set<stored_message, boost::intrusive::base_hook<order_hook>,
    boost::intrusive::compare<by_order>>;

} // namespace quern::broker::detail
