#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/consumer/outcome.hpp>
#include <quern/core/alarm.hpp>
#include <quern/core/detail/ask.hpp>
#include <quern/idempotency/detail/batch_order.hpp>
#include <quern/idempotency/once.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern::idempotency::detail {

/// The messages of a batch, each in a coroutine of its own until the handler has been called, and after.
///
/// Threads  one strand, that of the handler.
struct batch_table {
    struct message {
        explicit message(delivery& its) : d(its) {}

        delivery& d;
        boost::asio::cancellation_signal cancel;
        std::unique_ptr<alarm> bell;                 ///< of one that follows or waits
        quern::detail::asker<outcome> handler_ended; ///< of one whose key is claimed
        receipt left;
        outcome said;
        std::exception_ptr thrown;
    };

    batch_table(clock&, boost::asio::any_io_executor, deliveries);

    void cancel();

    /// Begins a round and returns its messages. Messages whose lease is over do not begin, nor does any once the
    /// batch was called off: they give their claims free.
    std::vector<std::size_t> begin_round(bool called_off);

    void wake(); ///< whoever has something to do, after a change in the order
    void end(std::size_t which);

    clock& time;
    boost::asio::any_io_executor const on;
    alarm news;              ///< something to be done by whoever goes through the rounds
    std::deque<message> all; // signals do not move
    std::deque<boost::asio::cancellation_signal> rounds;
    batch_order order;
};

/// Place of a message at it.
class batch_seat {
public:
    batch_seat(batch_table& at, std::size_t which) : at_(at), which_(which) {}

    /// Completes when no earlier message of the batch has that key any more. Cancellation: throws.
    boost::asio::awaitable<void> line_up(std::string const& key) const;

    bool may_wait() const { return at_.order.may_wait(which_); }

    /// Completes at that time, or as soon as the message may not wait any more. Cancellation: throws.
    boost::asio::awaitable<void> wait(tick until) const;

    /// Completes with the handler's outcome for the message, or throws what the handler threw. Not to be cancelled.
    boost::asio::awaitable<outcome> handled(receipt& left) const;

private:
    alarm& bell() const;
    boost::asio::awaitable<void> sleep(std::optional<tick> until) const;

    batch_table& at_;
    std::size_t const which_;
};

} // namespace quern::idempotency::detail
