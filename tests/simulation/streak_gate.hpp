#pragma once

#include <quern/consumer/gate.hpp>

namespace quern::sim {

/// The rule that this consumer once had: ten messages in a row that found it down are an outage, and then nothing
/// begins but one probe a minute, until one succeeds. A burst of one tenant is such a row.
class streak_gate final : public gate {
public:
    std::size_t room(tick now) override { return is_open_ && now < probe_at_ ? 0 : is_open_ ? 1 : unlimited; }
    std::optional<double> rate(tick) override { return {}; }
    answer ask(subject const&, tick now) override
    {
        if (!is_open_ || now >= probe_at_) return {};
        return {answer::way::go_back, between_probes};
    }
    void started(subject const&, tick now) override { probe_at_ = now + between_probes; }
    answer ended(subject const&, news const& said, tick) override
    {
        if (said.what == news::sign::down) ++down_;
        if (said.what == news::sign::good) down_ = 0;
        is_open_ = down_ >= enough;
        if (!is_open_) return {};
        return {answer::way::go_back, between_probes};
    }
    std::optional<leave> due(bool, tick) override { return {}; }
    std::optional<tick> wake_at(tick now) override
    {
        return is_open_ && now < probe_at_ ? std::optional(probe_at_) : std::nullopt;
    }

private:
    static constexpr int enough = 10;
    static constexpr std::chrono::minutes between_probes{1};

    int down_ = 0; // in a row
    bool is_open_ = false;
    tick probe_at_{};
};

} // namespace quern::sim
