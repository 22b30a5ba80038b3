#pragma once

#include <quern/consumer/detail/line.hpp>

#include <optional>

namespace quern::detail {

class settle_stage;

/// The lease keeper: has each lease extended in time, and stops the work on a message whose lease is over. The lease
/// of a message whose handler hangs is left to end, so that another consumer gets it.
class lease_stage {
public:
    lease_stage(line& l, settle_stage& to) : line_(l), settle_(to) {}

    std::optional<tick> turn(tick now);

private:
    line& line_;
    settle_stage& settle_;
};

} // namespace quern::detail
