#pragma once

#include <quern/consumer/detail/gate/gate_stage.hpp>
#include <quern/consumer/detail/intake/intake_stage.hpp>
#include <quern/consumer/detail/run/run_stage.hpp>
#include <quern/consumer/detail/stage_context.hpp>
#include <quern/consumer/detail/stall_watch.hpp>
#include <quern/consumer/explanation.hpp>
#include <quern/telemetry/log.hpp>

#include <optional>
#include <string>
#include <vector>

namespace quern::detail {

/// Says what the consumer waits for: when asked, and by itself when nothing moves.
class explainer {
public:
    explainer(stage_context& c, gate_stage& gate, run_stage const& run, intake_stage const& intake)
        : context_(c), gate_(gate), run_(run), intake_(intake),
          stall_(c.options.stall_after.value_or(std::chrono::milliseconds(0)), c.now()), stall_log_(c.options.log)
    {}

    explanation explain(bool started, tick now);

    void watch_for_stall(bool started, tick now);
    std::optional<tick> wake_at() const { return stall_.wake_at(); }

private:
    bool slows(tick now);
    std::vector<explanation::obstacle> obstacles(bool started, tick now);
    std::string turned_limits() const;
    std::string why_receives_fail(int failures, tick now) const;
    bool all_is_being_handled(tick now) const;

    stage_context& context_;
    gate_stage& gate_;
    run_stage const& run_;
    intake_stage const& intake_;
    stall_watch stall_;
    log_throttle stall_log_; // of its own: no problem, but what is said about them
};

} // namespace quern::detail
