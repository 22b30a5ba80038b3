#pragma once

#include <quern/consumer/detail/conclude/conclude_stage.hpp>
#include <quern/consumer/detail/explainer.hpp>
#include <quern/consumer/detail/gate/gate_stage.hpp>
#include <quern/consumer/detail/intake/intake_stage.hpp>
#include <quern/consumer/detail/lease/lease_stage.hpp>
#include <quern/consumer/detail/run/run_stage.hpp>
#include <quern/consumer/detail/settle/settle_stage.hpp>
#include <quern/consumer/detail/stage_context.hpp>
#include <quern/consumer/detail/tenant.hpp>
#include <quern/consumer/explanation.hpp>
#include <quern/sqs/client.hpp>
#include <quern/sqs/detail/named_queues.hpp>

#include <boost/asio/signal_set.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace quern::detail {

/// A consumer at work: the stages, wired, and the one loop that gives each its turn. A stage says when time alone
/// will make more due; everything else rings the alarm.
///
///     intake ──▶ gate ──▶ run ──▶ (handler) ──▶ conclude ──▶ settle
///                                                               ▲
///                                                     lease ────┘
///
/// Threads  everything on `strand()`.
class pipeline final : public std::enable_shared_from_this<pipeline> {
public:
    /// Makes one that lives in that context until its drain has ended. `given` may be null: then it makes a client of
    /// its own from the environment. `places`: claimed in the lanes of that which is given, for as long.
    static lodgers::place move_in(sqs::lane_claim places, boost::asio::any_io_executor, sqs::api* given,
        std::string queue_url, handlers, consumer_options,
        std::shared_ptr<consumer_numbers<counter> const>& counters);

    void start();
    void begin_drain(std::chrono::milliseconds limit);
    void drain_on(std::vector<int> const& signals, std::chrono::milliseconds limit);
    void pause(std::string why) { gate_.pause(std::move(why)); }
    void resume() { gate_.resume(); }
    gate_stage& outages() { return gate_; }
    void halt() { context_.halt(); }
    [[nodiscard]] result<void> set_limits(std::function<void(consumer_limits&)> const& change);

    /// Places taken, those that open receives may bring, and whether it takes no more.
    std::tuple<std::size_t, std::size_t, bool> burden() const
    {
        return {context_.ended ? 0 : conclude_.places_taken(), context_.coming, context_.ending.has_value()};
    }
    explanation explain() { return explainer_.explain(started_, context_.now()); }
    void abandon();                         ///< nobody will ask any more: drain, if it ever ran
    void join(std::shared_ptr<end_waiter>); ///< told when the drain has ended
    void leave(std::shared_ptr<end_waiter> const&);

    void context_ends(); ///< nothing reaches the strand any more

    /// Somebody means to join(), and has not yet: until then it stays. came() from any thread.
    void came() { ++guests_; }
    void left();

    // From any thread.
    compact_strand const& strand() const { return context_.strand; }
    consumer_options const& options() const { return context_.options; }
    std::size_t in_flight() const { return context_.in_flight.size(); }

private:
    pipeline(compact_strand, sqs::api* given, std::string queue_url, handlers, consumer_options);

    boost::asio::awaitable<void> run();
    std::optional<tick> turn(tick now);
    [[nodiscard]] std::optional<failure> claim_polls(std::size_t all);
    bool is_drained(tick now);
    std::size_t held_by_waiters() const;
    void report_what_is_left(tick now);
    void end();
    void move_out_if_done();
    void await_signal();

    lodgers::place place_;
    std::vector<sqs::lane_claim> places_; // in the client's lanes
    std::unique_ptr<sqs::client> own_client_;
    std::shared_ptr<sqs::api> shared_client_;          // the one that was given may go before us
    std::unique_ptr<sqs::detail::named_queues> names_; // null: all queues are known by URL
    stage_context context_;
    settle_stage settle_;
    lease_stage leases_;
    conclude_stage conclude_;
    run_stage run_;
    gate_stage gate_;
    intake_stage intake_;
    std::size_t polls_claimed_; // in the client's lane

    explainer explainer_;
    bool started_ = false;
    bool abandoned_ = false;
    std::atomic<int> guests_{0};
    std::vector<std::shared_ptr<end_waiter>> waiting_; // for the end of the drain
    std::optional<boost::asio::signal_set> signals_;
    std::map<int, std::chrono::milliseconds> signal_limits_; // of the drains that they begin
};

} // namespace quern::detail
