#include "consumer/arrival_model.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <random>
#include <vector>

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

tally a_second(double rate, std::chrono::nanoseconds there_and_back,
    std::function<int(std::mt19937_64&)> const& size = full_answer, std::chrono::milliseconds latency = 5ms)
{
    return receive_what_arrives(rate, there_and_back, size, latency);
}

} // namespace

BOOST_AUTO_TEST_SUITE(intake_of_what_arrives)

// A queue on which messages arrive by chance, behind a network. The receives bring several at a time, and no more of
// them are open than that takes.
BOOST_AUTO_TEST_CASE(few_receives_bring_what_arrives_at_random_at_any_rate_and_distance)
{
    struct row {
        double rate; // messages a second
        std::chrono::nanoseconds there_and_back;
        double receives_each, most_polls;
    };
    for (auto const& r : std::vector<row>{{1'000, 100us, 0.25, 1.1}, {1'000, 10ms, 0.25, 5}, {5'000, 100us, 0.2, 1.1},
             {5'000, 10ms, 0.2, 10}, {20'000, 100us, 0.2, 1.6}, {20'000, 1ms, 0.22, 8}, {100'000, 1ms, 0.165, 16}}) {
        auto const got = a_second(r.rate, r.there_and_back);
        BOOST_TEST_CONTEXT(r.rate << " a second, " << r.there_and_back.count() << " ns there and back")
        {
            BOOST_TEST(got.receives_each < r.receives_each);
            BOOST_TEST(got.polls < r.most_polls);
            BOOST_TEST(got.longest < 3 * r.there_and_back + 10ms);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_wish_for_latency_has_a_receive_wait_for_most_of_what_arrives)
{
    struct row {
        double rate;
        std::chrono::nanoseconds there_and_back;
        double most_polls;
    };
    for (auto const& r : std::vector<row>{{100, 100us, 3}, {100, 10ms, 6}, {1'000, 100us, 3}, {1'000, 4ms, 15},
             {5'000, 100us, 5}, {5'000, 1ms, 15}}) {
        auto const got = a_second(r.rate, r.there_and_back, full_answer, 0ms);
        BOOST_TEST_CONTEXT(r.rate << " a second, " << r.there_and_back.count() << " ns there and back")
        {
            BOOST_TEST(got.met > 0.8);
            BOOST_TEST(got.polls < r.most_polls);
            BOOST_TEST(got.longest <= 2 * r.there_and_back);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_queue_that_may_wait_longer_is_asked_less_often)
{
    auto const usual = a_second(200, 100us), cheap = a_second(200, 100us, full_answer, 50ms);
    BOOST_TEST(cheap.receives_each < 0.25);
    BOOST_TEST(cheap.receives_each < 0.4 * usual.receives_each);
    BOOST_TEST(cheap.longest < 60ms);
}

// Taken for all that arrives, they were received one in 5 ms: a twentieth of what the service would have given.
BOOST_AUTO_TEST_CASE(a_backlog_is_worked_off_at_full_speed_although_answers_are_not_full)
{
    struct row {
        char const* about;
        std::function<int(std::mt19937_64&)> size;
        double on_average;
    };
    auto const always = [](int n) { return [n](std::mt19937_64&) { return n; }; };
    auto const any = [](std::mt19937_64& random) { return std::uniform_int_distribution<>(1, 10)(random); };
    auto const half_full = [any](std::mt19937_64& random) { return random() % 2 == 0 ? 10 : any(random); };
    for (auto const& r : std::vector<row>{{"9", always(9), 9}, {"5", always(5), 5}, {"4", always(4), 4},
             {"1", always(1), 1}, {"any", any, 5.5}, {"half of them full", half_full, 7.75}}) {
        BOOST_TEST_CONTEXT(r.about)
        {
            auto const most = 16 * 50 * r.on_average; // receives at once, and of each in a second
            BOOST_TEST(static_cast<double>(a_second(0, 20ms, r.size).received) > 0.7 * most);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_arrives_is_no_backlog_though_it_comes_in_small_answers)
{
    auto const five = [](std::mt19937_64&) { return 5; };
    auto const got = a_second(1'000, 1ms, five);
    BOOST_TEST(got.received > 900u);
    BOOST_TEST(got.receives_each < 0.3);
}

BOOST_AUTO_TEST_SUITE_END()
