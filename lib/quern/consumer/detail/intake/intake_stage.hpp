#pragma once

#include <quern/consumer/detail/intake/intake.hpp>
#include <quern/consumer/detail/intake/patience.hpp>
#include <quern/consumer/detail/stage_context.hpp>
#include <quern/sqs/api.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

namespace quern::detail {

class gate_stage;
class run_stage;

/// The first stage: long polls bring messages, no more than there is room for, and each becomes an entry of the
/// ledger.
class intake_stage {
public:
    intake_stage(stage_context&, gate_stage& to, run_stage&);

    /// Begins the receives that there is room for. Says when time alone will make more room.
    std::optional<tick> turn(tick now);

    void limits_are_turned() { rule_.set_limits(context_.limits.max_in_flight, context_.limits.max_polls); }

    /// No more receives; those under way end.
    void stop() { rule_.stop(); }

    /// No receive waits longer than such a drain allows: it lets them end.
    void expect_drain(std::chrono::milliseconds limit);

    intake const& rule() const { return rule_; }
    patience const& how_patient() const { return patience_; }

private:
    using response = sqs::receive_message_response;

    /// Part that the messages of an answer have in common.
    struct arrival {
        std::shared_ptr<answer> from;
        tick at; ///< now
        std::chrono::seconds lease;
        wall_time service_time; ///< now, where the observer is told since when each was in the queue
    };

    boost::asio::awaitable<void> poll(int ask, tick began);
    /// A receive, as it was asked for.
    struct asked {
        int most;
        tick at;
        std::chrono::seconds wait, lease;
    };
    boost::asio::awaitable<result<response>> receive(asked&);
    /// A message may be sent to another queue, and its trace header with it: there is one, or nobody knows yet.
    bool may_go_along() const { return !context_.rejected_go_to || !context_.rejected_go_to->empty(); }
    sqs::receive_message_request request_for(asked const&);
    void failed(int asked, failure const&, tick now);
    std::size_t accept(response, asked const&, tick now);
    held_ptr take_in(sqs::message&&, arrival const&);
    held_ptr take_in(sqs::damaged_message&&, arrival const&);
    std::shared_ptr<answer> weighed(response&, tick received_at);
    std::chrono::seconds wait_time() const;
    std::chrono::seconds lease() const;
    void tell_limits();

    stage_context& context_;
    gate_stage& to_;
    run_stage& run_;
    intake rule_;
    patience patience_;
    observed_limits told_;
    std::chrono::milliseconds drain_budget_; // of the shortest drain that may come
};

} // namespace quern::detail
