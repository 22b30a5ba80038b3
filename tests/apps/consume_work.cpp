#include "quern/consume/consume_work.hpp"

#include "consumer/mill.hpp"

using namespace quern;
using namespace quern::app;
using namespace quern::test;

namespace {

struct working : mill {
    std::optional<consume_work> work;

    void begin(std::vector<std::string> urls)
    {
        options.observer = nullptr;
        auto const handle = [](std::string const&) { return handler(fast); };
        work.emplace(io, api, urls, handle, nullptr, nullptr, options);
    }

    ~working()
    {
        bool over = false;
        work->stop(1s);
        asio::co_spawn(io, work->run(), [&](std::exception_ptr, result<drain_report> const&) { over = true; });
        BOOST_TEST(until(5s, [&] { return over; }));
        work.reset();
    }

    bool done(asio::awaitable<result<void>> turn)
    {
        std::optional<bool> out;
        asio::co_spawn(
            io, std::move(turn), [&](std::exception_ptr, result<void> const& said) { out = said.has_value(); });
        time.run_for(io, 0s);
        return out.value();
    }
    bool limit(std::optional<policy::rate> rate) { return done(work->limit_rate(rate)); }
    bool turn(std::optional<policy::rate> rate)
    {
        consumer_limits to;
        to.rate = rate;
        return done(work->set_limits(to));
    }

    /// Handlers at once, of the first queue.
    std::size_t handlers()
    {
        std::size_t out = 0;
        asio::co_spawn(io, work->queues().front().of.explain(),
            [&](std::exception_ptr, explanation const& said) { out = said.limits.handler_concurrency.value(); });
        time.run_for(io, 0s);
        return out;
    }

    /// In force in each queue.
    std::string rates()
    {
        std::string out;
        for (auto const& q : work->queues()) {
            asio::co_spawn(io, q.of.explain(), [&](std::exception_ptr, explanation const& said) {
                auto const& rate = said.limits.rate;
                out += (out.empty() ? "" : "; ") + (rate ? to_string(*rate) : "none");
            });
            time.run_for(io, 0s);
        }
        return out;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(work_with_two_bounds_of_its_rate, working)

BOOST_AUTO_TEST_CASE(keeps_to_the_lower_one_whichever_was_turned_last)
{
    options.limits.rate = policy::rate{.count = 30};
    begin({url});
    BOOST_TEST(rates() == "30 a second");
    BOOST_TEST(limit(policy::rate{.count = 550, .per = 10s}));
    BOOST_TEST(rates() == "30 a second");
    BOOST_TEST(limit(policy::rate{.count = 55, .per = 10s}));
    BOOST_TEST(rates() == "55 in 10 s");
    BOOST_TEST(turn(policy::rate{.count = 5}));
    BOOST_TEST(rates() == "5 a second");
    BOOST_TEST(turn(policy::rate{.count = 50}));
    BOOST_TEST(rates() == "55 in 10 s");
    BOOST_TEST(turn({})); // no rate, says the user
    BOOST_TEST(rates() == "55 in 10 s");
    BOOST_TEST(limit({}));
    BOOST_TEST(rates() == "none");
    BOOST_TEST(limit(policy::rate{.count = 100}));
    BOOST_TEST(turn(policy::rate{.count = 50, .burst = 20}));
    BOOST_TEST(limit({}));
    BOOST_TEST(rates() == "50 a second, 20 at once");
}

BOOST_AUTO_TEST_CASE(begins_with_what_it_is_given_and_keeps_to_each_slice_of_a_fleet)
{
    options.limits.rate = policy::rate{1, 24h, 1};
    options.limits.handler_concurrency = 8;
    begin({url});
    work->begin_with_slice();
    BOOST_TEST(rates() == "1 in 86400 s, 1 at once");
    consumer_limits slice;
    slice.rate = policy::rate{12'500, 1'000s, 1};
    slice.handler_concurrency = 5;
    BOOST_TEST(done(work->set_slice(slice)));
    BOOST_TEST(rates() == "12500 in 1000 s, 1 at once");
    BOOST_TEST(handlers() == 5u);
    consumer_limits settings;
    settings.rate = policy::rate{.count = 5};
    settings.handler_concurrency = 3;
    BOOST_TEST(done(work->set_limits(settings)));
    BOOST_TEST(rates() == "5 a second");
    BOOST_TEST(handlers() == 3u);
    settings.rate.reset();
    settings.handler_concurrency.reset(); // any number
    BOOST_TEST(done(work->set_limits(settings)));
    BOOST_TEST(rates() == "12500 in 1000 s, 1 at once");
    BOOST_TEST(handlers() == 5u);
}

BOOST_AUTO_TEST_CASE(lets_no_more_begin_at_once_than_the_user_allows)
{
    begin({url});
    BOOST_TEST(turn(policy::rate{.count = 50, .burst = 2}));
    BOOST_TEST(limit(policy::rate{.count = 20}));
    BOOST_TEST(rates() == "20 a second, 2 at once");
}

BOOST_AUTO_TEST_CASE(stays_as_it_is_when_a_limit_cannot_work)
{
    begin({url});
    BOOST_TEST(turn(policy::rate{.count = 5}));
    BOOST_TEST(!turn(policy::rate{.count = -1}));
    BOOST_TEST(limit(policy::rate{.count = 20}));
    BOOST_TEST(rates() == "5 a second");
}

BOOST_AUTO_TEST_CASE(is_each_of_several_queues)
{
    auto const second = engine.create_queue(sqs::create_queue_request("letters"), time.wall()).value().queue_url;
    begin({url, second});
    BOOST_TEST(limit(policy::rate{.count = 20}));
    BOOST_TEST(rates() == "20 a second; 20 a second");
}

BOOST_AUTO_TEST_SUITE_END()
