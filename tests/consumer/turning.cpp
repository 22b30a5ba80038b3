// Limits that are turned while the consumer runs.

#include "consumer/mill.hpp"

#include <quern/sqs/detail/lane_ledger.hpp>

#include <tuple>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct limit_watch : life_watch {
    std::vector<consumer_limits> set;
    void limits_set(consumer_limits const& now) override { set.push_back(now); }
};

struct turned : mill {
    std::shared_ptr<limit_watch> seen = std::make_shared<limit_watch>();
    std::vector<tick> starts;
    std::size_t open = 0, most_open = 0; // receives

    turned() { options.observer = seen; }

    /// Its message, or empty.
    std::string turn(std::function<void(consumer_limits&)> const& change)
    {
        std::optional<result<void>> said;
        asio::co_spawn(io, it->set_limits(change), [&](std::exception_ptr bug, result<void> how) {
            BOOST_TEST(!bug);
            said = how;
        });
        time.run_for(io, 0s);
        BOOST_REQUIRE(said.has_value());
        return said->has_error() ? said->error().message : "";
    }

    /// Each handler takes so long, and the most that ever run are counted anew.
    void consume_slowly(std::chrono::milliseconds takes)
    {
        consume([this, takes](delivery&) -> asio::awaitable<outcome> {
            starts.push_back(time.now());
            co_await pause(takes);
            co_return ack();
        });
    }

    void count_anew() { most_running = running; }

    std::size_t started_since(tick from) const
    {
        return static_cast<std::size_t>(std::ranges::count_if(starts, [&](tick at) { return at >= from; }));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(turning, turned)

BOOST_AUTO_TEST_CASE(lowered_below_what_is_in_flight_nothing_is_received_until_it_is_under_and_nothing_is_dropped)
{
    options.limits.max_in_flight = 100;
    send(400);
    consume_slowly(10s);
    time.run_for(io, 1s);
    BOOST_TEST(it->in_flight() == 100u);
    BOOST_TEST(turn([](auto& l) { l.max_in_flight = 20; }) == "");
    auto const receives = api.receives;
    time.run_for(io, 8s);
    BOOST_TEST(it->in_flight() == 100u);
    BOOST_TEST(api.receives == receives);
    time.run_for(io, 2s);
    count_anew();
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(most_running == 20u);
    BOOST_TEST(std::ranges::all_of(runs, [](auto const& one) { return one.second == 1; }));
    BOOST_TEST(it->counters().acked == 400u);
}

BOOST_AUTO_TEST_CASE(raised_it_receives_at_once)
{
    options.limits.max_in_flight = 10;
    send(400);
    consume_slowly(1min);
    time.run_for(io, 5s);
    BOOST_TEST(running == 10u);
    BOOST_TEST(turn([](auto& l) { l.max_in_flight = 200; }) == "");
    time.run_for(io, 5s);
    BOOST_TEST(running == 200u);
}

BOOST_AUTO_TEST_CASE(the_observer_and_explain_tell_the_limits_in_force)
{
    options.limits.max_in_flight = 10;
    consume_slowly(1s);
    BOOST_TEST(turn([](auto& l) { l.max_polls = 3; }) == "");
    BOOST_TEST(turn([](auto& l) {
        l.rate = policy::rate{.count = 5};
        l.handler_concurrency = 2;
    }) == "");
    BOOST_TEST(turn([](auto& l) { l.max_polls = 3; }) == ""); // nothing new: no event
    BOOST_REQUIRE(seen->set.size() == 2u);
    BOOST_TEST(seen->set.back() == (consumer_limits{10, std::size_t(256) << 20, policy::rate{.count = 5}, 3, 2}));
    BOOST_TEST(explained().find("; limits were turned: max_polls 3, handler_concurrency 2, rate 5 a second") !=
            std::string::npos,
        explained());

    explanation said;
    asio::co_spawn(io, it->explain(), [&](std::exception_ptr, explanation now) { said = std::move(now); });
    time.run_for(io, 0s);
    BOOST_TEST(said.limits == seen->set.back());
    BOOST_TEST(to_json(said).find(R"("limits":{"max_in_flight":10,"max_polls":3,"max_bytes_in_flight":268435456,)"
                                  R"("handler_concurrency":2,"rate":"5 a second"})") != std::string::npos,
        to_json(said));
}

BOOST_AUTO_TEST_CASE(what_cannot_work_turns_nothing)
{
    options.limits.max_in_flight = 10;
    send(30);
    consume_slowly(1s);
    BOOST_TEST(turn([](auto& l) { std::tie(l.max_in_flight, l.max_polls) = std::pair(5, 0); }) ==
        "max_polls must be from 1 to 1000");
    BOOST_TEST(
        turn([](auto& l) { l.max_bytes_in_flight = 5; }).starts_with("max_bytes_in_flight must be at least 1 MiB"));
    BOOST_TEST(seen->set.empty());
    time.run_for(io, 500ms);
    BOOST_TEST(running == 10u);
}

BOOST_AUTO_TEST_CASE(more_polls_need_connections_of_the_client_and_keep_them)
{
    struct narrow : hooked_api {
        using hooked_api::hooked_api;
        sqs::lane_claim claim(sqs::lane_places wanted) override { return lanes->claim(wanted); }
        std::shared_ptr<sqs::detail::lane_ledger> lanes =
            std::make_shared<sqs::detail::lane_ledger>(sqs::lane_places{.data = 20, .control = 64});
    } client(*local);
    options.limits.max_polls = 4;
    it.emplace(io.get_executor(), client, url, fast, options);
    BOOST_TEST(client.lanes->free().data == 16u);
    auto const wrong = turn([](auto& l) { std::tie(l.max_in_flight, l.max_polls) = std::pair(7, 21); });
    BOOST_TEST(wrong.starts_with("max_polls 21 needs 17 more data connections of the client, 16 are free: raise "
                                 "client_options::connections.data_connections"),
        wrong);
    BOOST_TEST(seen->set.empty());
    BOOST_TEST(turn([](auto& l) { l.max_polls = 20; }) == "");
    BOOST_TEST(client.lanes->free().data == 0u);
    BOOST_TEST(turn([](auto& l) { l.max_polls = 1; }) == "");
    BOOST_TEST(turn([](auto& l) { l.max_polls = 20; }) == "");
    drained();
    BOOST_TEST(client.lanes->free().data == 20u);
    it.reset();
}

BOOST_AUTO_TEST_CASE(after_the_end_there_is_nothing_to_turn)
{
    consume_slowly(1s);
    drained();
    BOOST_TEST(turn([](auto& l) { l.max_polls = 3; }) == "the drain has ended");
}

BOOST_AUTO_TEST_CASE(a_rate_comes_changes_and_goes)
{
    send(3'000);
    options.limits.max_in_flight = 100;
    consume_slowly(1s);
    time.run_for(io, 5500ms);
    BOOST_TEST(starts.size() >= 400u);
    BOOST_TEST(turn([](auto& l) { l.rate = policy::rate{.count = 5}; }) == "");
    auto from = time.now();
    time.run_for(io, 60s);
    BOOST_TEST(started_since(from) <= 10u + 60 * 5 + 1);
    BOOST_TEST(started_since(from) >= 60u * 5);
    BOOST_TEST(turn([](auto& l) { l.rate = policy::rate{.count = 20}; }) == "");
    from = time.now();
    time.run_for(io, 10s);
    BOOST_TEST(started_since(from) <= 10u + 10 * 20 + 1);
    BOOST_TEST(started_since(from) >= 10u * 20 - 10);
    BOOST_TEST(turn([](auto& l) { l.rate.reset(); }) == "");
    from = time.now();
    time.run_for(io, 5s);
    BOOST_TEST(started_since(from) >= 400u);
}

BOOST_AUTO_TEST_CASE(bytes_are_turned_as_well)
{
    options.limits.max_bytes_in_flight = std::size_t(10) << 20;
    for (int i = 0; i < 80; ++i) {
        sqs::send_message_request request(url, std::to_string(i) + std::string(300'000, '.'));
        engine.send_message(std::move(request), time.wall()).value();
    }
    consume_slowly(10s);
    time.run_for(io, 1s);
    BOOST_TEST(running == 34u);
    BOOST_TEST(turn([](auto& l) { l.max_bytes_in_flight = std::size_t(2) << 20; }) == "");
    time.run_for(io, 10s);
    count_anew();
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(most_running == 6u);
}

BOOST_AUTO_TEST_CASE(fewer_polls_are_open_once_those_under_way_have_ended)
{
    options.limits.max_polls = 8;
    api.before_received = [this](auto&) -> asio::awaitable<void> {
        most_open = std::max(most_open, ++open);
        co_await pause(100ms);
        --open;
    };
    send(3'000);
    consume_slowly(10ms);
    time.run_for(io, 3s);
    BOOST_TEST(most_open == 8u);
    BOOST_TEST(turn([](auto& l) { l.max_polls = 2; }) == "");
    time.run_for(io, 200ms);
    most_open = open;
    time.run_for(io, 3s);
    BOOST_TEST(most_open == 2u);
}

BOOST_AUTO_TEST_CASE(handlers_at_once_are_bounded_apart_from_what_is_held)
{
    options.limits.handler_concurrency = 4;
    send(200);
    consume_slowly(1s);
    time.run_for(io, 500ms);
    BOOST_TEST(running == 4u);
    BOOST_TEST(it->in_flight() <= 4u + 10 + 4);
    BOOST_TEST(explained().find("handler_concurrency: 4 are being handled, no more than 4 at once, and ") !=
            std::string::npos,
        explained());
    BOOST_TEST(turn([](auto& l) { l.handler_concurrency = 50; }) == "");
    time.run_for(io, 2s);
    BOOST_TEST(running == 50u);
    BOOST_TEST(turn([](auto& l) { l.handler_concurrency = 2; }) == "");
    BOOST_TEST(running == 50u);
    time.run_for(io, 1s);
    count_anew();
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(most_running == 2u);
    BOOST_TEST(std::ranges::all_of(runs, [](auto const& one) { return one.second == 1; }));
    BOOST_TEST(it->counters().lost == 0u);
}

// Seen on the live page: the one receive that was open, and might have filled all places, was said to be in the way.
BOOST_AUTO_TEST_CASE(at_rest_nothing_is_in_the_way_of_few_handlers)
{
    options.limits.handler_concurrency = 8;
    consume_slowly(1s);
    time.run_for(io, 500ms);
    BOOST_TEST(explained().find("; nothing is in the way") != std::string::npos, explained());
}

// One handler at a time must not mean one receive a message.
BOOST_AUTO_TEST_CASE(one_handler_at_a_time_is_never_idle_and_its_receives_are_full)
{
    options.limits.handler_concurrency = 1;
    send(100);
    consume_slowly(1s);
    api.before_received = [this](auto&) { return pause(30ms); }; // a network
    BOOST_TEST(until(102s, [this] { return empty(); }));
    BOOST_TEST(most_running == 1u);
    BOOST_TEST(api.receives <= 13);
}

BOOST_AUTO_TEST_CASE(in_an_outage_and_with_half_the_messages_failing_nobody_is_forgotten)
{
    options.limits.handler_concurrency = 3;
    options.backoff = policy::backoff::fixed({1s});
    bool down = true;
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        co_await pause(50ms);
        if (down) co_return unavailable();
        auto const fails = d.receive_count() < 3 && d.body().ends_with('7');
        co_return fails ? retry() : ack();
    });
    send(300);
    time.run_for(io, 5min);
    down = false;
    BOOST_TEST(until(30min, [this] { return empty(); }));
    BOOST_TEST(most_running <= 3u);
}

BOOST_AUTO_TEST_CASE(a_drain_gives_back_what_waits_for_a_handler)
{
    options.limits.handler_concurrency = 2;
    send(50);
    consume_slowly(1s);
    time.run_for(io, 100ms);
    auto const held = it->in_flight();
    BOOST_TEST(held > 2u);
    auto const end = drained();
    BOOST_TEST(end.clean());
    BOOST_TEST(end.finished == 2u);
    BOOST_TEST(end.released == held - 2);
    BOOST_TEST(runs.size() == 2u);
}

BOOST_AUTO_TEST_CASE(groups_keep_their_order_when_few_handlers_run)
{
    options.limits.handler_concurrency = 3;
    sqs::create_queue_request wanted("ledger.fifo");
    wanted.attributes["FifoQueue"] = "true";
    url = engine.create_queue(wanted, time.wall()).value().queue_url;
    for (int i = 0; i < 200; ++i) {
        sqs::send_message_request request(url, std::to_string(i));
        request.group_id = "g" + std::to_string(i % 10);
        request.deduplication_id = std::to_string(i);
        engine.send_message(std::move(request), time.wall()).value();
    }
    std::map<std::string, std::vector<int>> order;
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        order[std::string(d.group())].push_back(std::stoi(std::string(d.body())));
        co_await pause(100ms);
        co_return ack();
    });
    time.run_for(io, 2s);
    turn([](auto& l) { std::tie(l.max_in_flight, l.handler_concurrency) = std::pair(5, 1); });
    time.run_for(io, 2s);
    turn([](auto& l) { std::tie(l.max_in_flight, l.handler_concurrency) = std::pair(50, 8); });
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(order.size() == 10u);
    for (auto const& [group, numbers] : order) {
        BOOST_TEST(numbers.size() == 20u);
        BOOST_TEST(std::ranges::is_sorted(numbers));
    }
    BOOST_TEST(most_running <= 8u);
}

BOOST_AUTO_TEST_CASE(of_batches_the_calls_are_counted)
{
    options.limits.handler_concurrency = 2;
    options.batch.size = 10;
    options.batch.window = 200ms;
    std::size_t calls = 0, most_calls = 0, handled = 0;
    send(205);
    auto handle = [&](deliveries messages) -> asio::awaitable<std::vector<outcome>> {
        most_calls = std::max(most_calls, ++calls);
        co_await pause(1s);
        --calls;
        handled += messages.size();
        co_return std::vector<outcome>(messages.size(), ack());
    };
    it.emplace(io.get_executor(), api, url, handle, options);
    it->start();
    time.run_for(io, 5s);
    BOOST_TEST(most_calls == 2u);
    turn([](auto& l) { l.handler_concurrency = 5; });
    time.run_for(io, 2s);
    BOOST_TEST(most_calls == 5u);
    BOOST_TEST(until(60s, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(handled == 205u);
    BOOST_TEST(most_calls == 5u);
}

BOOST_AUTO_TEST_CASE(plain_functions_that_wait_for_a_thread_count)
{
    asio::io_context elsewhere; // nobody runs it
    options.handler_executor = elsewhere.get_executor();
    options.limits.handler_concurrency = 3;
    int handled = 0;
    send(40);
    it.emplace(
        io.get_executor(), api, url, [&](delivery&) { ++handled; }, options);
    it->start();
    time.run_for(io, 1s);
    elsewhere.poll();
    BOOST_TEST(handled == 3);
    for (int i = 0; i < 40 && !empty(); ++i) {
        time.run_for(io, 1s);
        elsewhere.restart();
        elsewhere.poll();
    }
    BOOST_TEST(handled == 40);
    drained();
    it.reset();
}

// The time at which it would have received again passes, and nobody looks.
BOOST_AUTO_TEST_CASE(a_pause_while_a_rate_has_no_room_is_no_loop)
{
    options.limits.rate = policy::rate{.count = 1, .per = 1min, .burst = 1};
    send(3);
    consume_slowly(10ms);
    time.run_for(io, 1s);
    it->pause();
    time.run_for(io, 10min);
    BOOST_TEST(starts.size() == 1u);
    it->resume();
    time.run_for(io, 5min);
    BOOST_TEST(starts.size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
