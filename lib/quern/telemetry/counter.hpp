#pragma once

#include <atomic>
#include <cstdint>

namespace quern {

/// A number that one strand changes and any thread reads.
class counter {
public:
    operator std::uint64_t() const { return n_.load(std::memory_order_relaxed); }

    counter& operator=(std::uint64_t n)
    {
        n_.store(n, std::memory_order_relaxed);
        return *this;
    }
    counter& operator+=(std::uint64_t more) { return *this = *this + more; } // nobody else writes: no locked addition
    counter& operator++() { return *this += 1; }
    counter& operator--() { return *this = *this - (*this != 0 ? 1 : 0); } // never below zero

private:
    std::atomic<std::uint64_t> n_{0};
};

} // namespace quern
