#include <quern/policy/rolling_window.hpp>

#include <boost/test/unit_test.hpp>

#include <deque>
#include <random>

using namespace quern::policy;
using namespace std::chrono_literals;
using quern::tick;

BOOST_AUTO_TEST_SUITE(rolling_window_policy)

BOOST_AUTO_TEST_CASE(what_is_older_than_the_window_is_forgotten_a_bucket_at_a_time)
{
    tick const t0{};
    rolling_window window(10s, 10);
    window.add({5, 5}, t0);
    window.add({3, 1}, t0 + 4s);
    BOOST_TEST(window.total(t0 + 9'999ms).calls == 8u);
    BOOST_TEST(window.total(t0 + 10s).calls == 3u);
    BOOST_TEST(window.total(t0 + 10s).failures == 1u);
    BOOST_TEST(window.total(t0 + 14s).calls == 0u);

    window.add({2, 2}, t0 + 20s);
    BOOST_TEST(window.total(t0 + 365 * 24h).calls == 0u);
    window.add({1, 0}, t0 + 365 * 24h);
    window.clear();
    BOOST_TEST(window.total(t0 + 365 * 24h).calls == 0u);
}

BOOST_AUTO_TEST_CASE(it_agrees_with_a_list_of_every_call)
{
    std::mt19937_64 random(1);
    auto const up_to = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
    for (auto const buckets : {1, 3, 10}) {
        tick now(5'000'000s);
        auto const width = 900ms / buckets;
        rolling_window window(900ms, buckets);
        std::deque<std::pair<tick, bool>> calls;
        for (int i = 0; i < 3'000; ++i) {
            now += std::chrono::milliseconds(up_to(9) == 0 ? up_to(2'000) : up_to(30));
            bool const bad = up_to(1) == 0;
            window.add({1, bad}, now);
            calls.emplace_back(now, bad);
            auto const oldest = (now.time_since_epoch() / width + 1 - buckets) * width;
            while (calls.front().first.time_since_epoch() < oldest)
                calls.pop_front();
            auto const failures = std::count_if(calls.begin(), calls.end(), [](auto const& c) { return c.second; });
            auto const seen = window.total(now);
            BOOST_REQUIRE(seen.calls == calls.size());
            BOOST_REQUIRE(seen.failures == static_cast<std::uint64_t>(failures));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
