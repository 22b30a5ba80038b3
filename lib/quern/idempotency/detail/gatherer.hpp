#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/detail/ask.hpp>
#include <quern/services/dynamodb.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace quern::idempotency::detail {

/// The statements that wait to share a request: in their order, no two of one item in a request, since that would
/// fail as a whole.
class statement_line {
public:
    static constexpr std::size_t most = 25; ///< in a request (DynamoDB API, BatchExecuteStatement)

    struct waiting {
        std::uint64_t id;
        std::string item;
        services::statement what;
    };

    void add(waiting one) { line_.push_back(std::move(one)); }
    std::vector<waiting> take();
    std::size_t size() const { return line_.size(); }

private:
    std::deque<waiting> line_;
};

/// Sends statements that come at about the same time in one request, and answers each.
///
/// Threads  any.
class gatherer : public std::enable_shared_from_this<gatherer> {
public:
    using entry = services::batch_execute_statement_request::entry;

    struct reply {
        bool alone = true; ///< send it by itself: it found no company, or the service would not have it in a batch
        entry said{};
    };

    gatherer(std::shared_ptr<services::dynamodb>, clock&, std::chrono::milliseconds linger);

    /// Completes with what became of the statement about that item.
    ///
    /// Fails with    as services::dynamodb::batch_execute_statement()
    /// Cancellation  terminal. It may be carried out all the same.
    boost::asio::awaitable<result<reply>> carry(std::string item, services::statement);

private:
    struct round;

    void add(statement_line::waiting, quern::detail::asker<result<reply>>);
    void answer(std::uint64_t id, result<reply>);
    void answer_all(failure const&);
    void begin_to_send();
    boost::asio::awaitable<void> send(std::shared_ptr<round>);

    std::shared_ptr<services::dynamodb> const client_;
    clock& time_;
    std::chrono::milliseconds const linger_;
    std::mutex mutex_;
    statement_line line_;
    std::map<std::uint64_t, quern::detail::asker<result<reply>>> asked_;
    std::uint64_t next_ = 0;
    bool sends_soon_ = false; ///< somebody is about to take from the line
};

} // namespace quern::idempotency::detail
