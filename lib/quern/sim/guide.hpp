#pragma once

#include <quern/sim/coverage.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace quern::sim {

/// Chooses whose day comes next: of the scenario whose days have reached what is rare.
///
/// A place is worth one, shared by all days that have reached it; so a new one is worth most, and what every day
/// reaches is worth nothing. A scenario's chance is what its days have been worth on average. Each has one day first,
/// and one in ten days is drawn without regard to this.
///
/// Pure: equal seeds and equal news give equal choices.
class guide {
public:
    guide(std::size_t scenarios, std::uint64_t seed);

    std::size_t next();
    void learn(std::size_t scenario, coverage const& of_its_day);

private:
    struct arm {
        std::size_t begun = 0, days = 0;
        std::map<std::size_t, std::uint32_t> reached; ///< place -> days
    };
    double worth(arm const&) const;

    std::mt19937_64 random_;
    std::vector<arm> arms_;
    std::vector<std::uint32_t> reached_; ///< days of all, by place
};

} // namespace quern::sim
