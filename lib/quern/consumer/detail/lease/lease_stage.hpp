#pragma once

#include <quern/consumer/detail/stage_context.hpp>

#include <optional>

namespace quern::detail {

class settle_stage;

/// The lease keeper: has each lease extended in time, and stops the work on a message whose lease is over. The lease
/// of a message whose handler hangs is left to end, so that another consumer gets it.
class lease_stage {
public:
    lease_stage(stage_context& c, settle_stage& to) : context_(c), settle_(to) {}

    std::optional<tick> turn(tick now);

private:
    stage_context& context_;
    settle_stage& settle_;
};

} // namespace quern::detail
