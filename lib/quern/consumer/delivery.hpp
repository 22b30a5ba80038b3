#pragma once

#include <quern/core/clock.hpp>
#include <quern/sqs/message.hpp>

#include <atomic>

namespace quern {

/// A message in the hands of its handler, with the lease that comes with it.
///
/// Everything is a view into the answer that brought the message; copy what must outlive the handler.
///
/// Threads  the message does not change; the lease may be read from any thread.
class delivery {
public:
    delivery(sqs::message message, std::shared_ptr<std::byte[]> storage, clock const& time)
        : message_(std::move(message)), storage_(std::move(storage)), time_(time)
    {}
    delivery(delivery const&) = delete;
    delivery& operator=(delivery const&) = delete;

    std::string_view id() const { return message_.id; }
    std::string_view body() const { return message_.body; }
    int receive_count() const { return message_.receive_count(); } ///< 1 on the first receive, across all consumers
    std::optional<wall_time> first_received_at() const { return message_.first_received_at(); }
    std::string_view group() const { return message_.group_id(); } ///< empty when the message has none
    /// Grows within a group of a FIFO queue; empty on a standard queue.
    std::string_view sequence_number() const { return message_.system("SequenceNumber"); }
    sqs::message_attribute const* attribute(std::string_view name) const { return message_.attribute(name); }
    sqs::message const& message() const { return message_; }

    /// Until when the message is hidden from other consumers, as far as is known here. Moves as the lease is extended.
    tick lease_deadline() const { return tick(tick::duration(deadline_.load(std::memory_order_relaxed))); }

    /// What is left of the lease; negative when it has run out.
    tick::duration remaining() const { return lease_deadline() - time_.now(); }

private:
    friend class lease_book;

    sqs::message message_;
    std::shared_ptr<std::byte[]> storage_;
    clock const& time_;
    std::atomic<tick::rep> deadline_{0};
};

} // namespace quern
