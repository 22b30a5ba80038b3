// What answers of 429 do, on virtual time, with a web service of paper.

#include "relay/relayed.hpp"

#include <map>
#include <set>
#include <utility>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct refused : relayed {
    std::vector<std::optional<policy::rate>> rates;

    /// The consumer keeps to what the relay says.
    void begin_and_keep_to_its_rate()
    {
        begin();
        to->on_rate([this](std::optional<policy::rate> rate) {
            rates.push_back(rate);
            auto const turn = [rate](consumer_limits& l) { l.rate = rate; };
            asio::co_spawn(io, it->set_limits(turn), [](std::exception_ptr bug, result<void> const& said) {
                BOOST_TEST(!bug);
                BOOST_TEST(said.has_value());
            });
        });
    }

    /// Answers every message for which `ill` holds with 429 the first time.
    void refuse_once(std::function<bool(int number)> ill, std::string_view retry_after)
    {
        service.answer = [this, ill, retry_after](net::web_hook_request const& r) {
            auto const is_first = seen_.insert(r.body).second;
            auto const number = std::stoi(r.body.substr(1));
            return is_first && ill(number) ? paper_service::status(429, retry_after) : paper_service::status(200);
        };
    }

    /// Lets so many in each second.
    void admit(std::function<int()> most, std::string_view retry_after)
    {
        service.takes = 20ms;
        service.answer = [this, most, retry_after, in_second = std::map<std::int64_t, int>()](auto const&) mutable {
            auto const second = std::chrono::floor<std::chrono::seconds>(time.now().time_since_epoch()).count();
            if (++in_second[second] <= most()) return paper_service::status(200);
            return paper_service::status(429, retry_after);
        };
    }

private:
    std::set<std::string> seen_;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(relay_refusals, refused)

BOOST_AUTO_TEST_CASE(retry_after_puts_the_message_off_for_that_long)
{
    std::optional<tick> first, second;
    service.answer = [&](auto const&) {
        (first ? second : first) = time.now();
        return second ? paper_service::status(200) : paper_service::status(429, "50");
    };
    send(1);
    begin();
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(*second - *first >= 50s);
    BOOST_TEST(*second - *first < 75s);
    BOOST_TEST(to->counters().refused == 1u);
}

// At 2 % of them the relay made 8 requests a second in place of 230, for as long as there were any.
BOOST_AUTO_TEST_CASE(what_one_message_is_told_is_no_matter_to_the_others)
{
    for (int const part : {2, 30, 100}) {
        refused one;
        one.service.takes = 20ms;
        one.refuse_once([=](int number) { return number % 100 < part; }, "5");
        one.send(1'000);
        one.begin_and_keep_to_its_rate();
        auto const began_at = one.time.now();
        BOOST_TEST(one.until(1min, [&] { return one.it->counters().acked == 1'000; }), part);
        BOOST_TEST((one.time.now() - began_at < 8s), part);
        BOOST_TEST(one.to->counters().refused == 10u * static_cast<unsigned>(part));
    }
}

BOOST_AUTO_TEST_CASE(one_tenant_of_ten_is_refused_always_and_the_others_are_none_the_wiser)
{
    service.answer = [](net::web_hook_request const& r) {
        return paper_service::status(r.body.ends_with('3') ? 429 : 200, "1");
    };
    send(1'000);
    begin_and_keep_to_its_rate();
    time.run_for(io, 5s);
    BOOST_TEST(it->counters().acked == 900u);
    BOOST_TEST(rates.empty());
}

BOOST_AUTO_TEST_CASE(a_service_that_admits_fifty_a_second_gets_hardly_more_and_explain_says_so)
{
    for (auto const* const retry_after : {"", "2"}) {
        refused one;
        one.options.limits.max_in_flight = 10;
        one.options.limits.handler_concurrency = 10;
        one.admit([] { return 50; }, retry_after);
        one.send(5'000);
        one.begin_and_keep_to_its_rate();
        one.time.run_for(one.io, 20s);
        auto const before = one.to->counters();
        one.time.run_for(one.io, 30s);
        auto const after = one.to->counters();
        BOOST_TEST(after.acked - before.acked >= 1'350u); // of 1,500
        BOOST_TEST(after.refused - before.refused <= (after.requests - before.requests) / 5);
        BOOST_TEST(one.to->rate().has_value());
        BOOST_TEST(one.explained().find("limits were turned: rate 5") != std::string::npos, one.explained());
        BOOST_TEST(one.logged("a second at most from now on"));
    }
}

BOOST_AUTO_TEST_CASE(once_the_service_takes_more_again_it_is_soon_asked_as_often_as_before)
{
    options.limits.max_in_flight = 10;
    options.limits.handler_concurrency = 10;
    auto const well_at = time.now() + 20s;
    admit([&] { return time.now() < well_at ? 20 : 1'000'000; }, "1");
    send(4'000);
    begin_and_keep_to_its_rate();
    time.run_for(io, 19s);
    BOOST_TEST(to->rate().has_value());
    BOOST_TEST(until(20s, [this] { return empty(); })); // at 20 a second it would take five minutes
    BOOST_TEST(!to->rate().has_value());
    BOOST_TEST(logged("no limit any more"));
}

// Those that waited within their handlers for the relay's own pace held the drain up.
BOOST_AUTO_TEST_CASE(a_drain_gives_back_at_once_what_the_rate_holds_back)
{
    options.limits.max_in_flight = 10;
    options.limits.handler_concurrency = 10;
    admit([] { return 20; }, "1");
    send(2'000);
    begin_and_keep_to_its_rate();
    time.run_for(io, 20s);
    BOOST_TEST(to->rate().has_value());
    auto const drain = drained(10s);
    BOOST_TEST(drain.clean());
    BOOST_TEST((drain.took < 1s));
    BOOST_TEST(to->counters().cancelled == 0u);
}

BOOST_AUTO_TEST_CASE(whoever_does_not_ask_for_a_rate_gets_none)
{
    options.limits.max_in_flight = 10;
    options.limits.handler_concurrency = 10;
    admit([] { return 20; }, "1");
    send(2'000);
    begin();
    time.run_for(io, 20s);
    BOOST_TEST(!to->rate().has_value());
    BOOST_TEST(to->counters().refused > 2'000u);
}

BOOST_AUTO_TEST_CASE(a_line_of_the_users_own_that_retries_429_is_no_news_either)
{
    how.outcome.lines = {{relay::status_set("429"), relay::action::retry, "later", 3s}};
    refuse_once([](int number) { return number % 2 == 0; }, "");
    send(200);
    begin_and_keep_to_its_rate();
    BOOST_TEST(until(10s, [this] { return empty(); }));
    BOOST_TEST(to->counters().refused == 100u);
    BOOST_TEST(rates.empty());
}

BOOST_AUTO_TEST_CASE(a_batch_that_is_answered_with_429_comes_again_and_counts_once)
{
    service.answer = [&](auto const&) { return paper_service::status(service.requests.size() == 1 ? 429 : 200); };
    send(10);
    begin_batches();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(to->counters().refused == 1u);
    BOOST_TEST(to->counters().retried == 10u);
    BOOST_TEST(to->counters().acked == 10u);
}

BOOST_AUTO_TEST_SUITE_END()
