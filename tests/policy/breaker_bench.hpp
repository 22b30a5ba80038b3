#pragma once

#include <quern/policy/breaker.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>

namespace quern::test {

using namespace std::chrono_literals;
using policy::breaker;
using policy::breaker_options;
using policy::jitter;
using phase = breaker::phase;

/// A breaker without jitter, and a clock.
struct bench {
    breaker_options options;
    std::optional<breaker> it;
    tick now{1'000s};
    std::uint64_t others = 1'000; // messages, each of which speaks once

    explicit bench(breaker_options o = {}) : options(std::move(o))
    {
        options.open_for = options.open_for.with(jitter::none);
        it.emplace(options, 1);
    }

    void succeed(int calls = 1)
    {
        while (calls-- > 0)
            it->succeeded(it->start(), now);
    }
    void fail(int calls = 1)
    {
        while (calls-- > 0)
            it->failed(it->start(), ++others, now);
    }
    void unavailable(int calls = 1)
    {
        while (calls-- > 0)
            it->unavailable(it->start(), ++others, now);
    }

    /// Ordinary times in which that many of every ten messages find it unavailable, or fail.
    void get_used_to_unavailable(int of_ten)
    {
        for (int i = 0; i < 200; ++i)
            i* of_ten % 10 < of_ten ? unavailable() : succeed();
    }
    void get_used_to_failures(int of_ten)
    {
        for (int i = 0; i < 200; ++i)
            i* of_ten % 10 < of_ten ? fail() : succeed();
    }
    std::size_t allowance() { return it->allowance(now); }
    phase state()
    {
        allowance();
        return it->state();
    }

    /// Waits as a driver does; false when nothing would wake it.
    bool doze()
    {
        auto const at = it->wake_at();
        if (at) now = std::max(now, *at);
        return at.has_value();
    }
    std::chrono::milliseconds open_for() const
    {
        return std::chrono::duration_cast<std::chrono::milliseconds>(*it->wake_at() - now);
    }
    void half_open()
    {
        unavailable(3);
        doze();
        BOOST_REQUIRE(state() == phase::half_open);
    }
};

} // namespace quern::test

BOOST_TEST_DONT_PRINT_LOG_VALUE(quern::policy::breaker::phase)
