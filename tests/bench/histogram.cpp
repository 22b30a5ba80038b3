#include <histogram.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(histogram)

BOOST_AUTO_TEST_CASE(a_bucket_is_never_wider_than_a_128th_of_what_it_holds)
{
    for (std::int64_t value = 1; value < (std::int64_t(1) << 50); value += 1 + value / 3) {
        yardstick::histogram one;
        one.add(value);
        auto const buckets = one.buckets();
        BOOST_REQUIRE(buckets.size() == 1u);
        auto const floor = static_cast<std::int64_t>(buckets.begin()->first);
        BOOST_TEST(floor <= value);
        BOOST_TEST((value - floor) * 128 <= value);
    }
}

BOOST_AUTO_TEST_CASE(small_values_are_exact_and_what_is_negative_counts_as_nothing)
{
    yardstick::histogram all;
    for (int value = -1; value < 300; ++value)
        all.add(value);
    auto const buckets = all.buckets();
    BOOST_TEST(buckets.at(0) == 2u);
    BOOST_TEST(buckets.at(255) == 1u);
    BOOST_TEST(buckets.at(256) == 2u);
    std::uint64_t total = 0;
    for (auto const& [floor, many] : buckets)
        total += many;
    BOOST_TEST(total == 301u);
}

BOOST_AUTO_TEST_SUITE_END()
