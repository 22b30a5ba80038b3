// Hours with temporary credentials, in virtual time: many callers, a source that is slow and fails, a service that
// refuses what has expired.

#include <quern/aws/credentials/cached_credentials.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/test/unit_test.hpp>

#include <random>

namespace asio = boost::asio;
namespace aws = quern::aws;
using namespace quern;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

struct world {
    explicit world(unsigned seed) : random(seed) {}

    double chance() { return std::uniform_real_distribution<double>(0, 1)(random); }
    milliseconds between(milliseconds least, milliseconds most)
    {
        return milliseconds(std::uniform_int_distribution<milliseconds::rep>(least.count(), most.count())(random));
    }
    bool is_outage() const { return time.now() >= outage_from && time.now() < outage_until; }

    sim::virtual_clock time;
    asio::io_context io;
    std::minstd_rand random;

    seconds lifetime{15min};
    double failing = 0.2; ///< share of the loads
    tick outage_from = tick::max(), outage_until = tick::max();
    bool rotates_late = false; ///< like an instance: the same credentials until 5 minutes before their end
    std::optional<aws::credentials> current;

    int loads = 0, loads_at_once = 0, most_loads_at_once = 0;
    tick::duration closest_loads = tick::duration::max();
    std::optional<tick> last_load;
    int calls = 0, signed_with_expired = 0, without = 0, refused = 0, refused_twice = 0;
    tick revoked_at = tick::max(); ///< what was issued before is refused from then on
};

class slow_source final : public aws::credentials_source {
public:
    explicit slow_source(world& w) : world_(w), timer_(w.time.make_timer(w.io.get_executor())) {}

    asio::awaitable<result<aws::credentials>> load() override
    {
        auto& w = world_;
        ++w.loads;
        w.most_loads_at_once = std::max(w.most_loads_at_once, ++w.loads_at_once);
        if (w.last_load) w.closest_loads = std::min(w.closest_loads, w.time.now() - *w.last_load);
        w.last_load = w.time.now();
        auto const latency = w.between(20ms, 3s);
        co_await timer_->wait_until(w.time.now() + latency);
        --w.loads_at_once;
        if (w.is_outage() || w.chance() < w.failing) co_return failure(errc::no_credentials, "busy", true);
        bool const keeps = w.rotates_late && w.current && *w.current->expires_at - w.time.wall() > 5min;
        if (!keeps) {
            w.current = aws::credentials{
                std::to_string(w.time.now().time_since_epoch().count()), "s", "t", w.time.wall() + w.lifetime};
        }
        co_return *w.current;
    }

private:
    world& world_;
    std::unique_ptr<timer> timer_;
};

/// Treats its credentials as json_service does, without the network.
asio::awaitable<void> call(world& w, aws::credentials_provider& provider, timer& pause)
{
    ++w.calls;
    for (int attempt = 0; attempt < 2; ++attempt) {
        auto keys = provider.at_hand();
        if (!keys) {
            auto const found = co_await provider.get();
            if (!found) ++w.without;
            if (!found) co_return;
            keys = *found;
        }
        if (*keys->expires_at <= w.time.wall()) ++w.signed_with_expired;
        auto const issued = tick(tick::duration(std::stoll(keys->access_key_id)));
        auto const transit = w.between(5ms, 400ms);
        co_await pause.wait_until(w.time.now() + transit);
        bool const is_refused =
            *keys->expires_at <= w.time.wall() || (w.time.now() >= w.revoked_at && issued < w.revoked_at);
        if (!is_refused) co_return;
        ++(attempt == 0 ? w.refused : w.refused_twice);
        if (provider.renew(keys) != aws::renewal::now) co_return;
    }
}

asio::awaitable<void> caller(world& w, std::shared_ptr<aws::credentials_provider> provider, tick end)
{
    auto const pause = w.time.make_timer(w.io.get_executor());
    while (w.time.now() < end) {
        co_await call(w, *provider, *pause);
        auto const rest = w.between(5s, 60s);
        co_await pause->wait_until(w.time.now() + rest);
    }
}

void live(world& w, std::chrono::minutes how_long, int callers)
{
    auto const provider = aws::cached_credentials(
        w.io.get_executor(), std::make_unique<slow_source>(w), w.time, [&w] { return w.chance(); });
    for (int i = 0; i < callers; ++i) {
        asio::co_spawn(w.io, caller(w, provider, w.time.now() + how_long), [](std::exception_ptr thrown) {
            if (thrown) std::rethrow_exception(thrown);
        });
    }
    w.time.run_for(w.io, how_long + 1min);
    BOOST_TEST_MESSAGE(w.calls << " calls, " << w.loads << " loads, " << w.without << " without credentials");
}

} // namespace

BOOST_AUTO_TEST_SUITE(credential_life)

BOOST_AUTO_TEST_CASE(four_hours_of_short_lived_credentials_from_a_source_that_is_slow_and_fails)
{
    for (unsigned seed = 1; seed <= 3; ++seed) {
        world w(seed);
        live(w, 4h, 300);
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            BOOST_TEST(w.calls > 100'000);
            BOOST_TEST(w.signed_with_expired == 0);
            BOOST_TEST(w.refused == 0);
            BOOST_TEST(w.without <= 1'200); // at most the first loads, with everyone waiting
            // A life of 15 minutes is renewed after 11.25 to 13.1; one load in five fails and is repeated.
            BOOST_TEST(w.loads >= 18);
            BOOST_TEST(w.loads <= 40);
            BOOST_TEST(w.most_loads_at_once == 1);
            BOOST_TEST(w.closest_loads >= 500ms);
        }
    }
}

BOOST_AUTO_TEST_CASE(an_outage_shorter_than_the_margin_is_not_noticed)
{
    world w(7);
    w.lifetime = 1h;
    w.failing = 0;
    w.outage_from = tick() + 44min;
    w.outage_until = tick() + 51min;
    live(w, 4h, 100);
    BOOST_TEST(w.without == 0);
    BOOST_TEST(w.signed_with_expired == 0);
    BOOST_TEST(w.refused == 0);
    BOOST_TEST(w.loads <= 25);
}

BOOST_AUTO_TEST_CASE(an_outage_of_an_hour_costs_calls_but_no_storm_and_no_signature_with_expired_credentials)
{
    world w(11);
    w.failing = 0;
    w.outage_from = tick() + 60min;
    w.outage_until = tick() + 120min;
    live(w, 4h, 100);
    BOOST_TEST(w.without > 0);
    BOOST_TEST(w.signed_with_expired == 0);
    BOOST_TEST(w.refused == 0);
    BOOST_TEST(w.loads <= 160); // one a minute, of which jitter takes up to half, and the start of it
    BOOST_TEST(w.closest_loads >= 500ms);
}

BOOST_AUTO_TEST_CASE(an_instance_that_hands_out_the_same_until_five_minutes_before_the_end_is_not_besieged)
{
    world w(13);
    w.lifetime = 1h;
    w.failing = 0;
    w.rotates_late = true;
    live(w, 4h, 100);
    BOOST_TEST(w.without == 0);
    BOOST_TEST(w.signed_with_expired == 0);
    BOOST_TEST(w.refused == 0);
    BOOST_TEST(w.loads <= 16);
}

BOOST_AUTO_TEST_CASE(revoked_credentials_cost_each_call_under_way_one_retry)
{
    world w(17);
    w.lifetime = 4h;
    w.failing = 0;
    w.revoked_at = tick() + 1h;
    live(w, 2h, 300);
    BOOST_TEST(w.without == 0);
    BOOST_TEST(w.refused > 0);
    BOOST_TEST(w.refused <= 300);
    BOOST_TEST(w.refused_twice == 0);
    BOOST_TEST(w.loads == 2);
}

BOOST_AUTO_TEST_SUITE_END()
