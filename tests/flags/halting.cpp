#include <quern/consumer/consumer.hpp>
#include <quern/flags/app_config.hpp>

#include <quern/sim/local_api.hpp>

#include "support/fake_app_config.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <optional>

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

/// A consumer that heeds a flag in AppConfig, all on the loopback and in real time.
struct halting {
    asio::io_context io;
    broker::engine engine{broker::engine_options{.seed = 1}};
    sim::local_api queues{engine, real_clock(), io.get_executor()};
    fake_app_config service{io};
    std::string url;
    int handled = 0;
    std::optional<consumer> it;

    halting()
    {
        url = run(io, queues.create_queue(sqs::create_queue_request("orders"))).value().queue_url;
        service.deploy("shop/prod/flags", R"({"orders":{"enabled":false}})");
        auto options = service.options();
        options.retries.max_attempts = 1;
        auto const client = std::make_shared<services::app_config>(io.get_executor(), options);
        services::configuration_name what("shop", "prod", "flags");
        consumer_options how;
        how.outage.flag.emplace().source = flags::in_app_config(client, std::move(what), "/orders", 0s);
        how.outage.flag->interval = 1s;
        how.wait_time = 0s;
        how.log = nullptr;
        it.emplace(
            io.get_executor(), queues, url, [this](delivery&) { ++handled; }, how);
    }

    void send(int count)
    {
        for (int i = 0; i < count; ++i)
            run(io, queues.send_message(sqs::send_message_request(url, "m"))).value();
    }

    /// The words of explain() about the flag; empty while it is no obstacle.
    std::string flag_text()
    {
        auto const now = run(io, it->explain());
        auto const at = std::ranges::find(now.obstacles, "flag", &explanation::obstacle::name);
        return at == now.obstacles.end() ? std::string() : at->text;
    }
    bool says_flag() { return !flag_text().empty(); }

    /// Runs until that is so; the time limit of the test ends a wait that is in vain.
    template <class Done>
    void until(Done done)
    {
        for (io.restart(); !done(); io.restart())
            io.run_one_for(100ms);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(a_consumer_under_a_flag_in_app_config, halting)

BOOST_AUTO_TEST_CASE(halts_while_it_is_raised_and_goes_on_when_it_is_lowered)
{
    it->start();
    send(10);
    until([this] { return handled == 10; });
    BOOST_TEST(!says_flag());

    service.deploy("shop/prod/flags", R"({"orders":{"enabled":true}})");
    until([this] { return says_flag(); });
    auto const readings = service.readings;
    send(10);
    until([&] { return service.readings > readings + 1; });
    BOOST_TEST(handled == 10);

    service.forget_sessions();
    service.is_down = true;
    until([this] { return flag_text().find("cannot be read now") != std::string::npos; });
    BOOST_TEST(flag_text().find("says halt") != std::string::npos); // the last word counts
    BOOST_TEST(handled == 10);
    service.is_down = false;

    service.deploy("shop/prod/flags", R"({"orders":{"enabled":false}})");
    until([this] { return handled == 20; });
    BOOST_TEST(!says_flag());
    it->stop();
    run(io, it->drained());
}

BOOST_AUTO_TEST_SUITE_END()
