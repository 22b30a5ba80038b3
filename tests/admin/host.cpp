#include <quern/admin/host.hpp>

#include <quern/broker/engine.hpp>
#include <quern/sim/local_api.hpp>

#include "support/socket_client.hpp"
#include "support/wait_until.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <atomic>
#include <cstdlib>
#include <future>
#include <optional>

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

struct counting : observer {
    std::atomic<int> settled_ones = 0;
    void settled(observed_message const&, message_end, std::chrono::seconds) override { ++settled_ones; }
};

/// Two queues on one strand of a pool of threads, before one host.
struct two_queues {
    broker::engine engine{broker::engine_options{.seed = 1}};
    asio::thread_pool pool{3};
    asio::any_io_executor one_by_one = asio::make_strand(pool); // as the service wants it
    std::optional<sim::local_api> api;
    std::optional<admin::host> page;
    std::shared_ptr<counting> mine = std::make_shared<counting>();
    std::vector<consumer> all;

    explicit two_queues(admin::host_options options = {})
    {
        options.program = "a test";
        page.emplace(pool.get_executor(), std::move(options));
        for (auto const* name : {"orders", "bills"}) {
            sqs::create_queue_request const wanted(name);
            urls.push_back(engine.create_queue(wanted, real_clock().wall()).value().queue_url);
            engine.send_message(sqs::send_message_request(urls.back(), "m"), real_clock().wall()).value();
        }
        api.emplace(engine, real_clock(), one_by_one); // from now on the engine is its
        for (auto const& url : urls) {
            consumer_options settings;
            settings.log = nullptr;
            settings.wait_time = 1s;
            settings.observer = page->observe(url, mine);
            all.emplace_back(
                one_by_one, *api, url, [](delivery&) { return ack(); }, settings);
        }
        for (std::size_t i = 0; i < all.size(); ++i)
            page->watch(urls[i], all[i]);
        page->begin().value();
        for (auto& one : all)
            one.start();
    }
    ~two_queues()
    {
        for (auto& one : all)
            asio::co_spawn(pool, one.drain(5s), asio::use_future).get();
        asio::co_spawn(pool, page->end(), asio::use_future).get();
        all.clear();
        page.reset();
        pool.stop(); // the service waits for ever
        pool.join();
    }

    std::uint16_t port() const
    {
        auto const url = page->url();
        return static_cast<std::uint16_t>(std::atoi(url.c_str() + url.rfind(':') + 1));
    }
    std::string get(std::string const& path) const
    {
        socket_client client(port());
        client.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        return client.receive().body;
    }
    bool says(std::string const& path, std::string const& text) const
    {
        return get(path).find(text) != std::string::npos;
    }

    std::vector<std::string> urls;
};

} // namespace

BOOST_AUTO_TEST_SUITE(admin_host)

BOOST_AUTO_TEST_CASE(one_object_shows_the_page_probes_and_metrics_of_all_queues)
{
    two_queues program;
    wait_until([&] {
        return program.says("/metrics", R"(quern_messages_settled_total{queue="orders",outcome="acked"} 1)") &&
            program.says("/metrics", R"(quern_messages_settled_total{queue="bills",outcome="acked"} 1)");
    });
    wait_until([&] { return program.says("/readyz", "ready") && program.says("/metrics", "quern_receives_open"); });
    BOOST_TEST(program.says("/", "<html"));
    BOOST_TEST(program.says("/explain", R"("name":"bills")"));
    BOOST_TEST(program.mine->settled_ones == 2);
    BOOST_TEST(!program.says("/", "no such page"));
}

BOOST_AUTO_TEST_CASE(numbers_that_somebody_else_counts_are_shown_in_place_of_its_own)
{
    metrics::collection others("7.7");
    two_queues program({.numbers = [&] { return others.snapshot(); }});
    BOOST_TEST(program.says("/metrics", R"(version="7.7")"));
    BOOST_TEST(!program.says("/metrics", "quern_messages_settled_total"));
}

BOOST_AUTO_TEST_CASE(a_port_that_is_taken_is_told)
{
    two_queues program;
    admin::host second(program.pool.get_executor(), {.web = {.port = program.port()}});
    auto const said = second.begin();
    BOOST_REQUIRE(!said);
    BOOST_TEST(said.error().message != "");
}

BOOST_AUTO_TEST_CASE(an_option_that_makes_no_sense_is_refused)
{
    asio::thread_pool pool{1};
    BOOST_CHECK_THROW(admin::host(pool.get_executor(), {.web = {.address = "nowhere"}}), boost::system::system_error);
}

BOOST_AUTO_TEST_SUITE_END()
