#pragma once

#include <quern/consumer/gate.hpp>

namespace quern::detail {

/// A gate that lets everything pass: no breaker.
class open_gate final : public gate {
public:
    std::size_t room(tick) override { return std::numeric_limits<std::size_t>::max(); }
    std::optional<double> rate(tick) override { return {}; }
    answer ask(subject const&, tick) override { return {}; }
    void started(subject const&, tick) override {}
    answer ended(subject const&, news const&, tick) override { return {}; }
    std::optional<leave> due(bool, tick) override { return {}; }
    std::optional<tick> wake_at(tick) override { return {}; }
};

} // namespace quern::detail
