#pragma once

#include <quern/consumer/consumer_group.hpp>
#include <quern/consumer/detail/sharing.hpp>
#include <quern/consumer/detail/tenant.hpp>
#include <quern/core/alarm.hpp>
#include <quern/core/detail/compact_strand.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace quern::detail {

/// Keeps a context from running out of work, unless it ends.
class busy_context {
public:
    explicit busy_context(boost::asio::any_io_executor const&);
    busy_context(busy_context const&) = delete;
    ~busy_context();

private:
    lodgers::place const at_;
};

/// The consumers of a `consumer_group` at work: who shares with whom, and what has ended.
///
/// Threads  everything on the strand, but for add() and size(), which come before.
class group_state : public std::enable_shared_from_this<group_state> {
public:
    group_state(boost::asio::any_io_executor, consumer_group_options const&);

    /// A consumer of another context keeps both busy until all have ended: each waits for the other at times.
    void add(std::unique_ptr<consumer>, std::size_t weight, std::size_t most);
    std::size_t size() const { return all_.size(); }

    void start();
    void stop(std::optional<std::chrono::milliseconds> limit);
    void join(std::shared_ptr<end_waiter>);
    void leave(std::shared_ptr<end_waiter> const&);
    [[nodiscard]] result<void> share(std::size_t max_in_flight);

    /// Nobody asks any more: all drain, if they ever ran.
    void abandon();

    compact_strand const& strand() const { return strand_; }
    void context_ends() {}

    lodgers::place at;

private:
    struct colleague {
        std::unique_ptr<consumer> it;
        std::size_t weight, most, limit;
    };

    boost::asio::awaitable<void> work();
    boost::asio::awaitable<void> watch(consumer&);
    boost::asio::awaitable<bool> balance();
    boost::asio::awaitable<std::vector<sharer>> look();
    boost::asio::awaitable<void> turn(colleague&, std::size_t limit);
    void spawn(boost::asio::awaitable<void>);
    void move_out_if_done();
    void end();

    compact_strand const strand_;
    consumer_group_options options_;
    clock& time_;
    alarm wake_;
    std::vector<colleague> all_;
    std::deque<busy_context> busy_;
    std::vector<std::shared_ptr<end_waiter>> waiting_;
    std::size_t at_work_ = 0;
    bool started_ = false, ended_ = false, abandoned_ = false;
    std::optional<failure> gave_up_;
    drain_report report_;
};

} // namespace quern::detail
