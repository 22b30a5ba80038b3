// Several queues in one program.

#include "consumer/mill.hpp"

#include <quern/consumer/consumer_group.hpp>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

/// Two queues, or more, that share places.
struct shop : mill {
    struct shelf {
        std::string url;
        std::size_t running = 0, most_running = 0, done = 0;
        consumer* it = nullptr;
    };
    std::map<std::string, shelf> shelves;
    std::size_t running = 0, most_running = 0;
    std::optional<consumer_group> all;
    std::optional<result<drain_report>> end;

    explicit shop(std::size_t places = 100) { open(places); }

    void open(std::size_t places)
    {
        consumer_group_options together;
        together.max_in_flight = places;
        together.time = &time;
        all.emplace(io.get_executor(), together);
    }

    void add(std::string const& name, std::chrono::milliseconds takes, std::size_t weight = 1)
    {
        auto& s = shelves[name];
        s.url = engine.create_queue(sqs::create_queue_request(name), time.wall()).value().queue_url;
        auto handle = [this, &s, takes](delivery&) -> asio::awaitable<outcome> {
            most_running = std::max(most_running, ++running);
            s.most_running = std::max(s.most_running, ++s.running);
            co_await pause(takes);
            --running;
            --s.running;
            ++s.done;
            co_return ack();
        };
        options.observer = nullptr;
        s.it = &all->add(api, s.url, std::move(handle), options, weight);
    }

    void send_to(std::string const& name, int count)
    {
        for (int i = 0; i < count; ++i) {
            sqs::send_message_request request(shelves[name].url, name + std::to_string(i));
            asio::co_spawn(io, local->send_message(std::move(request)), [](std::exception_ptr, auto const&) {});
        }
        time.run_for(io, 0s);
    }

    void run()
    {
        asio::co_spawn(io, all->run(), [this](std::exception_ptr bug, result<drain_report> how) {
            BOOST_TEST(!bug);
            end = std::move(how);
        });
    }

    std::size_t in_flight() const
    {
        std::size_t out = 0;
        for (auto const& one : all->members())
            out += one.it.get().in_flight();
        return out;
    }

    ~shop()
    {
        if (!end) {
            run();
            all->stop(1s);
            until(5s, [this] { return end.has_value(); });
        }
        all.reset();
        time.run_for(io, 0s);
    }
};

std::string refused(std::function<void()> const& what)
{
    try {
        what();
    } catch (boost::system::system_error const& e) {
        return e.what();
    }
    return "";
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(several, shop)

BOOST_AUTO_TEST_CASE(each_queue_has_its_handler_and_one_report_tells_the_end)
{
    add("orders", 10ms);
    add("mails", 20ms);
    send_to("orders", 30);
    send_to("mails", 20);
    run();
    BOOST_TEST(until(1min, [this] { return shelves["orders"].done == 30 && shelves["mails"].done == 20; }));
    BOOST_TEST(all->members().size() == 2u);
    BOOST_TEST(shelves["orders"].it->counters().received == 30u);
    BOOST_TEST(!end.has_value());
    send_to("orders", 5);
    send_to("mails", 7);
    time.run_for(io, 15ms);
    all->stop(30s);
    BOOST_TEST(until(1min, [this] { return end.has_value(); }));
    BOOST_REQUIRE(end->has_value());
    BOOST_TEST(end->value().clean());
    BOOST_TEST(end->value().finished == 7u); // of both, those of the shop were done
    BOOST_TEST(shelves["orders"].done == 35u);
    BOOST_TEST(shelves["mails"].done == 27u);
}

BOOST_AUTO_TEST_CASE(the_limit_is_shared_by_weight_while_all_are_busy)
{
    add("orders", 1s, 3);
    add("mails", 1s);
    send_to("orders", 2'000);
    send_to("mails", 2'000);
    run();
    time.run_for(io, 10s);
    BOOST_TEST(shelves["orders"].most_running == 75u);
    BOOST_TEST(shelves["mails"].most_running == 25u);
    BOOST_TEST(most_running == 100u);
}

BOOST_AUTO_TEST_CASE(an_idle_queue_lends_its_places_and_has_them_back_when_it_is_busy)
{
    add("orders", 1s);
    add("mails", 1s);
    send_to("orders", 8'000);
    run();
    time.run_for(io, 10s);
    BOOST_TEST(shelves["orders"].running >= 80u);
    send_to("mails", 2'000);
    time.run_for(io, 10s);
    BOOST_TEST(shelves["mails"].running == 50u);
    BOOST_TEST(shelves["orders"].running == 50u);
    BOOST_TEST(most_running <= 100u);
    BOOST_TEST(until(5min, [this] { return shelves["mails"].done == 2'000; }));
    time.run_for(io, 25s); // until long polls that reserve places have ended
    BOOST_TEST(shelves["orders"].running >= 80u);
    BOOST_TEST(most_running <= 100u);
}

// Handlers that take long hold what was lent: nobody else may have it before they end.
BOOST_AUTO_TEST_CASE(what_is_lent_is_in_flight_until_it_has_ended)
{
    add("orders", 1min);
    add("mails", 1s);
    send_to("orders", 500);
    run();
    time.run_for(io, 30s);
    BOOST_TEST(shelves["orders"].running >= 80u);
    send_to("mails", 1'000);
    for (int i = 0; i < 600; ++i) {
        time.run_for(io, 100ms);
        BOOST_REQUIRE(in_flight() <= 100u);
    }
    BOOST_TEST(shelves["mails"].most_running >= 40u);
}

BOOST_AUTO_TEST_CASE(a_hundred_queues_and_as_many_places_starve_nobody)
{
    for (int i = 0; i < 100; ++i)
        add("q" + std::to_string(i), 100ms, i == 0 ? 1'000 : 1);
    send_to("q0", 200);
    for (int i = 1; i < 100; ++i)
        send_to("q" + std::to_string(i), 2);
    run();
    BOOST_TEST(until(
        5min, [this] { return std::ranges::all_of(shelves, [](auto const& s) { return s.second.done >= 2; }); }));
    BOOST_TEST(most_running <= 100u);
}

BOOST_AUTO_TEST_CASE(the_shared_limit_can_be_turned)
{
    add("orders", 1s);
    add("mails", 1s);
    send_to("orders", 5'000);
    send_to("mails", 5'000);
    run();
    time.run_for(io, 5s);
    BOOST_TEST(running == 100u);
    std::string said = "nothing";
    auto const turn = [&](std::size_t to) {
        asio::co_spawn(io, all->set_max_in_flight(to),
            [&](std::exception_ptr, result<void> how) { said = how.has_error() ? how.error().message : ""; });
        time.run_for(io, 0s);
        return said;
    };
    BOOST_TEST(turn(1) == "max_in_flight 1 is less than one for each of 2 queues");
    BOOST_TEST(turn(0) == "max_in_flight must be from 1 to 1000000");
    BOOST_TEST(turn(20) == "");
    time.run_for(io, 5s);
    BOOST_TEST(running == 20u);
    BOOST_TEST(shelves["orders"].running == 10u);
    BOOST_TEST(turn(60) == "");
    time.run_for(io, 5s);
    BOOST_TEST(running == 60u);
}

BOOST_AUTO_TEST_CASE(when_one_is_stopped_the_others_work_on_with_its_places)
{
    add("orders", 1s);
    add("mails", 1s);
    send_to("orders", 5'000);
    send_to("mails", 5'000);
    run();
    time.run_for(io, 5s);
    shelves["mails"].it->stop(10s);
    time.run_for(io, 10s);
    BOOST_TEST(!end.has_value());
    BOOST_TEST(shelves["mails"].running == 0u);
    BOOST_TEST(shelves["orders"].running >= 98u);
    all->stop(10s);
    BOOST_TEST(until(11s, [this] { return end.has_value(); }));
    BOOST_TEST(end->has_value());
}

BOOST_AUTO_TEST_CASE(when_one_is_refused_for_too_long_all_drain_and_the_end_says_why)
{
    options.give_up.after = 10s;
    add("orders", 1s);
    send_to("orders", 100);
    auto const gone = engine.create_queue(sqs::create_queue_request("gone"), time.wall()).value().queue_url;
    sqs::delete_queue_request away;
    away.queue_url = gone;
    engine.delete_queue(away, time.wall()).value();
    all->add(api, gone, fast, options);
    run();
    BOOST_TEST(until(2min, [this] { return end.has_value(); }));
    BOOST_REQUIRE(end->has_error());
    BOOST_TEST(end->error().service_code.find("NonExistentQueue") != std::string::npos, end->error().service_code);
    BOOST_TEST(shelves["orders"].running == 0u);
}

BOOST_AUTO_TEST_CASE(what_cannot_work_is_refused_by_its_name)
{
    add("orders", 1s);
    auto const taken = shelves["orders"].url;
    options.observer = nullptr;
    BOOST_TEST(
        refused([&] { all->add(api, taken, fast, options); }).find(taken + " is there already") != std::string::npos);
    BOOST_TEST(refused([&] { all->add(api, taken + "2", fast, options, 0); }).find("weight must be from 1 to 1000") !=
        std::string::npos);
    BOOST_TEST(refused([&] { consumer_group(io.get_executor(), {.max_in_flight = 0}); }).find("max_in_flight") !=
        std::string::npos);
    BOOST_TEST(refused([&] { consumer_group(io.get_executor(), {.look_every = 1ms}); }).find("look_every") !=
        std::string::npos);
    consumer_group small(io.get_executor(), {.max_in_flight = 1, .time = &time});
    small.add(api, taken, fast, options);
    BOOST_TEST(refused([&] { small.add(api, taken + "2", fast, options); }).find("max_in_flight 1 is less than") !=
        std::string::npos);
    all->start();
    BOOST_TEST(refused([&] { all->add(api, taken + "2", fast, options); }).find("add() comes before start()") !=
        std::string::npos);
}

BOOST_AUTO_TEST_CASE(it_may_go_at_any_time)
{
    add("orders", 1s);
    add("mails", 1s);
    send_to("orders", 10);
    std::optional<drain_report> said;
    asio::co_spawn(io, all->drained(), [&](std::exception_ptr bug, drain_report how) {
        if (!bug) said = how;
    });
    all->start();
    time.run_for(io, 500ms);
    all.reset(); // it drains
    BOOST_TEST(until(40s, [&] { return said.has_value(); }));
    BOOST_TEST(shelves["orders"].done == 10u);
    open(10); // this one never begins
    add("letters", 1s);
    all.reset();
    time.run_for(io, 0s);
    end = drain_report();
}

BOOST_AUTO_TEST_SUITE_END()
