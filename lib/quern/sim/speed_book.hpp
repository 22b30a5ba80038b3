#pragma once

#include <quern/core/clock.hpp>
#include <quern/sim/scenario.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace quern::sim {

/// How many tries of handlers end in the times that promises of speed speak of.
class speed_book {
public:
    explicit speed_book(std::vector<speed_promise>);

    /// A try of a message of that tenant, which found what it needs.
    void ended(int tenant, tick::duration took, tick now);

    /// The promise and what happened, a sentence for each promise that was broken.
    std::vector<std::string> broken() const;

private:
    struct entry {
        speed_promise promise;
        std::size_t usual = 0, then = 0; // tries
        tick::duration took{};           // of the latter
    };
    std::vector<entry> entries_;
};

} // namespace quern::sim
