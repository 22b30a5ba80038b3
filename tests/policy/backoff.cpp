#include <quern/policy/backoff.hpp>

#include <boost/test/unit_test.hpp>

#include <climits>
#include <limits>
#include <stdexcept>

using namespace quern::policy;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

std::vector<milliseconds> delays(backoff const& policy, int receives)
{
    std::mt19937_64 random(1);
    std::vector<milliseconds> all;
    for (int n = 1; n <= receives; ++n)
        all.push_back(policy.delay(n, random));
    return all;
}

bool same(std::vector<milliseconds> const& a, std::vector<milliseconds> const& b)
{
    return a == b;
}

/// The shortest and the longest of many delays after a first receive.
std::pair<milliseconds, milliseconds> range(backoff const& policy)
{
    std::mt19937_64 random(1);
    auto low = milliseconds::max(), high = milliseconds::min();
    for (int i = 0; i < 4'000; ++i) {
        auto const d = policy.delay(1, random);
        low = std::min(low, d);
        high = std::max(high, d);
    }
    return {low, high};
}

std::string refused(backoff const& policy)
{
    auto const why = policy.validate();
    return why ? why->message.substr(0, why->message.find(' ')) : "";
}

constexpr auto not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr auto infinity = std::numeric_limits<double>::infinity();

} // namespace

BOOST_AUTO_TEST_SUITE(backoff_policy)

BOOST_AUTO_TEST_CASE(by_default_the_delay_doubles_from_a_second_to_a_quarter_of_an_hour)
{
    auto const all = delays(backoff().with(jitter::none), 12);
    BOOST_TEST(same(all, {1s, 2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s, 512s, 900s, 900s}));
    BOOST_TEST(range(backoff()).first >= 500ms);
    BOOST_TEST(!backoff().validate());
}

BOOST_AUTO_TEST_CASE(each_series_grows_in_its_own_way_and_stops_at_its_cap)
{
    auto const plain = [](backoff const& b) { return delays(b.with(jitter::none), 7); };
    BOOST_TEST(same(plain(backoff::exponential(1s, 3.0, 1min)), {1s, 3s, 9s, 27s, 60s, 60s, 60s}));
    BOOST_TEST(same(plain(backoff::linear(1s, 2s, 10s)), {1s, 3s, 5s, 7s, 9s, 10s, 10s}));
    BOOST_TEST(same(plain(backoff::fibonacci(2s, 20s)), {2s, 2s, 4s, 6s, 10s, 16s, 20s}));
    BOOST_TEST(same(plain(backoff::fixed({0s, 10s, 5s})), {0s, 10s, 5s, 5s, 5s, 5s, 5s}));
    BOOST_TEST(same(plain(backoff::custom([](int n) { return milliseconds(100 * n); })),
        {100ms, 200ms, 300ms, 400ms, 500ms, 600ms, 700ms}));
}

BOOST_AUTO_TEST_CASE(a_list_and_a_function_are_taken_at_their_word)
{
    BOOST_TEST(same(delays(backoff::fixed({7s}), 3), {7s, 7s, 7s}));
    BOOST_TEST(same(delays(backoff::custom([](int) { return 7s; }), 3), {7s, 7s, 7s}));
    BOOST_TEST(range(backoff::fixed({8s}).with(jitter::half)).first < 4'100ms);
}

BOOST_AUTO_TEST_CASE(what_a_function_answers_is_brought_into_range)
{
    std::mt19937_64 random(1);
    auto const answer = [&](milliseconds d) { return backoff::custom([d](int) { return d; }).delay(1, random); };
    BOOST_TEST(answer(-1ms) == 0ms);
    BOOST_TEST(answer(milliseconds::min()) == 0ms);
    BOOST_TEST(answer(milliseconds::max()) == 12h);
}

BOOST_AUTO_TEST_CASE(a_function_that_throws_leaves_it_to_the_default)
{
    auto const broken = backoff::custom([](int) -> milliseconds { throw std::runtime_error("no table"); });
    BOOST_TEST(same(delays(broken, 4), {1s, 2s, 4s, 8s}));
    BOOST_TEST(same(delays(backoff::custom(nullptr), 2), {1s, 2s}));
}

BOOST_AUTO_TEST_CASE(jitter_stays_in_its_range_and_reaches_both_ends)
{
    for (auto const& [spread, least] : {std::pair(jitter::none, 1'000ms), std::pair(jitter::fraction(0.25), 750ms),
             std::pair(jitter::half, 500ms), std::pair(jitter::full, 0ms)}) {
        auto const [low, high] = range(backoff().with(spread));
        BOOST_TEST(low >= least);
        BOOST_TEST(low < least + 10ms);
        BOOST_TEST(high <= 1s);
        BOOST_TEST(high > 990ms);
    }
}

BOOST_AUTO_TEST_CASE(no_receive_count_and_no_setting_leads_out_of_range)
{
    auto const strange = {milliseconds::min(), -1ms, 0ms, 1ms, 1'000ms, milliseconds(12h), milliseconds::max()};
    std::vector<backoff> all{backoff(), backoff::fixed({}), backoff::fixed(strange)};
    for (auto const base : strange) {
        all.push_back(backoff::custom([base](int) { return base; }));
        for (auto const cap : strange) {
            all.push_back(backoff::fibonacci(base, cap));
            for (auto const step : strange)
                all.push_back(backoff::linear(base, step, cap));
            for (auto const factor : {not_a_number, infinity, -infinity, -2.0, 0.0, 0.5, 1.0, 2.0, 1e308})
                all.push_back(backoff::exponential(base, factor, cap));
        }
    }
    std::mt19937_64 random(1);
    bool inside = true;
    for (auto const& policy : all) {
        for (auto const part : {not_a_number, -infinity, -1.0, 0.0, 0.5, 1.0, 2.0, infinity}) {
            auto const jittered = policy.with(jitter::fraction(part));
            for (auto const n : {INT_MIN, -1, 0, 1, 2, 63, 64, 65, 1'000'000, INT_MAX}) {
                auto const d = jittered.delay(n, random);
                inside = inside && d >= 0ms && d <= 12h;
            }
        }
    }
    BOOST_TEST(inside);
    auto const broken = backoff::exponential(1s, not_a_number, 10s).with(jitter::none);
    BOOST_TEST(broken.delay(2, random) == 10s); // never hot
}

BOOST_AUTO_TEST_CASE(a_series_that_grows_never_falls_and_starts_at_its_base)
{
    for (auto const& growing : {backoff(), backoff::exponential(3ms, 1.1, 12h), backoff::linear(5ms, 7ms, 1h),
             backoff::fibonacci(1ms, 12h)}) {
        auto const policy = growing.with(jitter::none);
        auto const all = delays(policy, 500);
        BOOST_TEST(std::is_sorted(all.begin(), all.end()));
        std::mt19937_64 random(1);
        for (auto const n : {INT_MIN, -1, 0})
            BOOST_TEST(policy.delay(n, random) == all.front());
        BOOST_TEST(policy.delay(INT_MAX, random) >= all.back());
    }
}

BOOST_AUTO_TEST_CASE(a_jitter_keeps_whole_delays_of_any_size)
{
    std::mt19937_64 random(1);
    for (auto const delay : {milliseconds::min(), -1ms, 0ms, 1ms, milliseconds::max()}) {
        for (auto const part : {not_a_number, -1.0, 0.0, 0.3, 1.0, 9.0}) {
            auto const d = jitter::fraction(part).spread(delay, random);
            BOOST_TEST(d >= 0ms);
            BOOST_TEST(d <= std::max(delay, 0ms));
        }
    }
    BOOST_TEST(jitter::none.spread(milliseconds::max(), random) == milliseconds::max());
}

BOOST_AUTO_TEST_CASE(what_cannot_work_is_refused_by_name)
{
    BOOST_TEST(refused(backoff::exponential(0ms)) == "backoff.base");
    BOOST_TEST(refused(backoff::exponential(-1ms)) == "backoff.base");
    BOOST_TEST(refused(backoff::exponential(2s, 2.0, 1s)) == "backoff.cap");
    BOOST_TEST(refused(backoff::exponential(2s, 2.0, 12h + 1ms)) == "backoff.cap");
    for (auto const factor : {not_a_number, infinity, -infinity, -1.0, 0.0, 0.99})
        BOOST_TEST(refused(backoff::exponential(1s, factor)) == "backoff.factor");
    BOOST_TEST(refused(backoff::linear(0ms, 1s)) == "backoff.base");
    BOOST_TEST(refused(backoff::linear(1s, -1ms)) == "backoff.step");
    BOOST_TEST(refused(backoff::linear(1s, 1s, 1ms)) == "backoff.cap");
    BOOST_TEST(refused(backoff::fibonacci(-1s)) == "backoff.base");
    BOOST_TEST(refused(backoff::fibonacci(1s, 13h)) == "backoff.cap");
    BOOST_TEST(refused(backoff::fixed({})) == "backoff.list");
    BOOST_TEST(refused(backoff::fixed({1s, -1ms})) == "backoff.list");
    BOOST_TEST(refused(backoff::fixed({13h})) == "backoff.list");
    BOOST_TEST(refused(backoff::custom(nullptr)) == "backoff.function");
    for (auto const part : {not_a_number, infinity, -0.1, 1.1})
        BOOST_TEST(refused(backoff().with(jitter::fraction(part))) == "backoff.jitter");

    BOOST_TEST(refused(backoff::linear(1s, 0s)) == "");
    BOOST_TEST(refused(backoff::fixed({0s, 12h})) == "");
    BOOST_TEST(refused(backoff::custom([](int) { return 1s; })) == "");
    BOOST_TEST(backoff::fixed({}).validate("open_for")->message == "open_for.list must not be empty");
}

BOOST_AUTO_TEST_SUITE_END()
