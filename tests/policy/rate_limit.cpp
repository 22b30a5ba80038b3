#include <quern/policy/rate_limit.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

#include <random>

using namespace quern::policy;
using namespace std::chrono_literals;
using quern::tick;

namespace {

using quern::test::t0;

auto const odd_rates = {rate{3, 1s, 10}, rate{7, 13s, 10}, rate{1, 7min, 2}, rate{9'973, 1s, 100'000},
    rate{50'000, 1s, 500'000}, rate{1'003, 1min, 100}, rate{1, 1s, 3}};

} // namespace

BOOST_AUTO_TEST_SUITE(rate_limit_policy)

BOOST_AUTO_TEST_CASE(a_bucket_starts_full_and_fills_at_its_rate)
{
    rate_limit limit({.count = 5}, t0);
    BOOST_TEST(limit.available(t0) == 10u);
    limit.take(10, t0);
    BOOST_TEST(limit.available(t0) == 0u);
    BOOST_TEST(limit.available(t0 + 199'999'999ns) == 0u);
    BOOST_TEST(limit.available(t0 + 200ms) == 1u);
    BOOST_TEST(limit.available(t0 + 1s) == 5u);
    BOOST_TEST(limit.available(t0 + 1h) == 10u);
    BOOST_TEST(limit.available(t0 + 365 * 24h) == 10u);
}

BOOST_AUTO_TEST_CASE(what_is_owed_is_waited_for)
{
    rate_limit limit({.count = 5}, t0);
    limit.take(15, t0);
    BOOST_TEST(limit.available(t0 + 1s) == 0u);
    BOOST_TEST(limit.available(t0 + 1'200ms) == 1u);
    BOOST_TEST(limit.wake_at(1) == t0 + 1'200ms);
}

BOOST_AUTO_TEST_CASE(it_says_when_so_many_are_there)
{
    rate_limit limit({.count = 5}, t0);
    BOOST_TEST(limit.wake_at(10) == t0);
    limit.take(10, t0);
    BOOST_TEST(limit.wake_at(1) == t0 + 200ms);
    BOOST_TEST(limit.wake_at(10) == t0 + 2s);
    BOOST_TEST(limit.wake_at(1'000) == t0 + 2s); // more than it holds: when it is full
    limit.available(t0 + 500ms);
    BOOST_TEST(limit.wake_at(2) == t0 + 500ms);
    BOOST_TEST(limit.wake_at(3) == t0 + 600ms);
}

BOOST_AUTO_TEST_CASE(it_says_how_many_come_in_soon)
{
    rate_limit limit({.count = 5}, t0);
    BOOST_TEST(limit.expected(t0, 1s) == 15u); // no bucket holds as many, but nobody has to wait for them
    limit.take(12, t0);
    BOOST_TEST(limit.expected(t0, 1s) == 3u);
    BOOST_TEST(limit.expected(t0 + 199ms, 1s) == 3u);
    BOOST_TEST(limit.expected(t0 + 200ms, 1s) == 4u);
    BOOST_TEST(limit.wake_at(5, 1s) == t0 + 400ms);
    BOOST_TEST(limit.wake_at(15, 1s) == t0 + 2'400ms); // full
    BOOST_TEST(!limit.wake_at(16, 1s).has_value());
    BOOST_TEST(!limit.wake_at(std::numeric_limits<std::size_t>::max(), 1s).has_value());
    limit.take(100, t0);
    BOOST_TEST(limit.expected(t0, 1s) == 0u);
}

BOOST_AUTO_TEST_CASE(time_that_goes_backwards_brings_nothing)
{
    rate_limit limit({.count = 5}, t0);
    BOOST_TEST(limit.available(t0 - 1s) == 10u);
    limit.take(10, t0 + 1s);
    BOOST_TEST(limit.available(t0) == 0u);
    BOOST_TEST(limit.available(t0 + 1s) == 0u);
    BOOST_TEST(limit.available(t0 + 1'200ms) == 1u);
}

BOOST_AUTO_TEST_CASE(over_a_day_not_one_is_lost_or_added)
{
    std::mt19937_64 random(1);
    for (auto const& r : odd_rates) {
        // Steps that never let the bucket overflow: all that comes in can be taken.
        auto const longest = r.per.count() / r.count * (r.burst - 1);
        std::uniform_int_distribution<std::int64_t> step(1, longest);
        rate_limit limit(r, t0);
        limit.take(static_cast<std::size_t>(r.burst), t0);
        std::int64_t taken = 0;
        bool exact = true;
        for (auto now = t0; now < t0 + 24h; now += std::chrono::nanoseconds(step(random))) {
            auto const n = limit.available(now);
            limit.take(n, now);
            taken += static_cast<std::int64_t>(n);
            exact = exact && taken == (now - t0).count() * r.count / r.per.count();
        }
        BOOST_TEST(exact, r.count << " in " << r.per.count() << " ns");
    }
}

BOOST_AUTO_TEST_CASE(no_stretch_of_time_brings_more_than_a_burst_and_the_rate)
{
    std::mt19937_64 random(2);
    auto const up_to = [&](std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(0, most)(random);
    };
    for (auto const& r : odd_rates) {
        rate_limit limit(r, t0);
        auto now = t0, since = t0;
        std::int64_t taken = 0;
        for (int i = 0; i < 20'000; ++i) {
            now += std::chrono::nanoseconds(up_to(3 * r.per.count() / r.count * r.burst));
            auto const n = up_to(static_cast<std::int64_t>(limit.available(now)));
            limit.take(static_cast<std::size_t>(n), now);
            taken += n;
            BOOST_REQUIRE(taken <= r.burst + (now - since).count() * r.count / r.per.count() + 1);
            if (up_to(20) == 0) {
                since = now;
                taken = 0;
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_time_to_wake_is_the_first_at_which_it_is_true)
{
    std::mt19937_64 random(3);
    auto const up_to = [&](std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(0, most)(random);
    };
    for (auto const& r : odd_rates) {
        rate_limit limit(r, t0);
        auto now = t0;
        for (int i = 0; i < 3'000; ++i) {
            limit.take(static_cast<std::size_t>(up_to(2 * r.burst)), now);
            auto const wanted = static_cast<std::size_t>(1 + up_to(r.burst - 1));
            auto const at = limit.wake_at(wanted);
            if (at > now) {
                auto early = limit;
                BOOST_REQUIRE(early.available(at - 1ns) < wanted);
            }
            BOOST_REQUIRE(limit.available(at) >= wanted);
            now = at + std::chrono::nanoseconds(up_to(r.per.count()));
        }
    }
}

BOOST_AUTO_TEST_CASE(another_rate_holds_from_then_on)
{
    rate_limit limit({.count = 1}, t0);
    limit.take(10, t0);
    limit.change({.count = 100, .burst = 50}, t0 + 2'500ms); // two and a half tokens
    BOOST_TEST(limit.available(t0 + 2'500ms) == 2u);
    BOOST_TEST(limit.available(t0 + 2'504ms) == 2u);
    BOOST_TEST(limit.available(t0 + 2'505ms) == 3u);
    BOOST_TEST(limit.available(t0 + 1h) == 50u);
    limit.change({.count = 1, .burst = 5}, t0 + 1h);
    BOOST_TEST(limit.available(t0 + 1h) == 5u);

    limit.take(8, t0 + 1h);
    limit.change({.count = 2}, t0 + 1h); // three are owed
    BOOST_TEST(limit.wake_at(1) == t0 + 1h + 2s);
    limit.change({.count = 5}, t0 + 1h + 250ms); // two and a half
    BOOST_TEST(limit.wake_at(1) == t0 + 1h + 950ms);
}

BOOST_AUTO_TEST_CASE(a_rate_that_changes_every_second_does_not_drift)
{
    std::mt19937_64 random(4);
    std::uniform_int_distribution<std::int64_t> count(1, 1'000), per(1, 7'000'000'000);
    rate_limit limit({.count = 1, .burst = 1}, t0);
    limit.take(1, t0);
    long double due = 0;
    std::int64_t taken = 0;
    for (auto now = t0; now < t0 + 24h; now += 1s) {
        rate const r{count(random), 1s + std::chrono::nanoseconds(per(random)), 2'000};
        limit.change(r, now);
        due += static_cast<long double>(r.count) / static_cast<long double>(r.per.count()) * 1e9L;
        auto const n = limit.available(now + 1s);
        limit.take(n, now + 1s);
        taken += static_cast<std::int64_t>(n);
        BOOST_REQUIRE(static_cast<long double>(taken) <= due + 1e-3L);
        BOOST_REQUIRE(static_cast<long double>(taken) >= due - 1.001L);
    }
}

BOOST_AUTO_TEST_CASE(nothing_that_is_accepted_overflows)
{
    constexpr auto huge = std::numeric_limits<std::int64_t>::max();
    std::vector<rate> all;
    for (auto const count : {std::int64_t(1), std::int64_t(3), huge - 1, huge})
        for (auto const per : {1ns, 7ns, std::chrono::nanoseconds(24h), std::chrono::nanoseconds::max()})
            for (auto const burst : {std::int64_t(1), std::int64_t(10), std::int64_t(1) << 40, huge})
                if (rate const r{count, per, burst}; !r.validate()) all.push_back(r);
    BOOST_TEST(all.size() > 10u);
    for (auto const& first : all) {
        for (auto const& second : all) {
            rate_limit limit(first, t0);
            BOOST_REQUIRE(limit.available(t0) == static_cast<std::size_t>(first.burst));
            limit.take(std::numeric_limits<std::size_t>::max(), t0);
            BOOST_REQUIRE(limit.available(t0) == 0u);
            BOOST_REQUIRE(limit.wake_at(std::numeric_limits<std::size_t>::max()) > t0);
            BOOST_REQUIRE(limit.expected(t0, 1ns) <= limit.expected(t0, 24h));
            BOOST_REQUIRE(limit.wake_at(1, 1s).value_or(tick::max()) >= t0);
            limit.change(second, t0 + 1ns);
            limit.take(1, t0 + 365 * 24h);
            BOOST_REQUIRE(limit.available(t0 + 100 * 365 * 24h) <= static_cast<std::size_t>(second.burst));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_rate_that_cannot_work_is_refused_by_name)
{
    auto const refused = [](rate const& r) {
        auto const why = r.validate();
        return why ? why->message.substr(0, why->message.find(' ')) : "";
    };
    BOOST_TEST(refused({.count = 1}) == "");
    BOOST_TEST(refused({.count = 1'000'000, .per = 24h, .burst = 1'000'000}) == "");
    BOOST_TEST(refused({}) == "rate.count");
    BOOST_TEST(refused({.count = -1}) == "rate.count");
    BOOST_TEST(refused({.count = 1, .per = 0s}) == "rate.per");
    BOOST_TEST(refused({.count = 1, .per = -1s}) == "rate.per");
    BOOST_TEST(refused({.count = 1, .burst = 0}) == "rate.burst");
    BOOST_TEST(refused({.count = 1, .per = 24h, .burst = 1'000'000}) == "rate.burst");
}

BOOST_AUTO_TEST_SUITE_END()
