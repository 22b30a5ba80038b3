#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/idempotency/rule.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace quern::idempotency {

/// Answer of a store to a conditional write.
struct store_answer {
    bool applied = true;
    std::optional<record> found{}; ///< what stands there: of a write that was refused, if anything does
};

/// A claim as it is to stand in the store.
struct claim_request {
    std::string key;
    record row;      ///< in progress
    wall_time now{}; ///< by the store's clock
    int attempt = 1; ///< receive count of the message, for operators

    claim_request() = default;
};

/// Keeper of records. Each write is one step: nobody else's comes between its condition and its effect. All times are
/// by the store's clock, see clock_offset().
///
/// Fails with    any code; the write may have been carried out all the same
/// Threads       any.
/// Cancellation  terminal.
class store {
public:
    template <class T>
    using answer = boost::asio::awaitable<result<T>>;

    virtual ~store() = default;

    /// Puts the row where is_free() says so.
    virtual answer<store_answer> claim(claim_request) = 0;

    /// Moves the end of a claim, and with it when the row expires, where is_mine() for its owner.
    virtual answer<store_answer> extend(std::string key, record claim) = 0;

    /// Marks it completed, with what `done` has, where is_mine() for its owner.
    virtual answer<store_answer> complete(std::string key, record done) = 0;

    /// Takes the row away, where is_mine().
    virtual answer<store_answer> abandon(std::string key, std::string owner) = 0;

    /// How far the store's clock is ahead of ours.
    virtual std::chrono::milliseconds clock_offset() const { return {}; }
};

} // namespace quern::idempotency
