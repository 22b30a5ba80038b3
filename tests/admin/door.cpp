#include <quern/admin/door.hpp>
#include <quern/admin/reporter.hpp>

#include <quern/broker/engine.hpp>
#include <quern/sim/local_api.hpp>

#include "support/socket_client.hpp"
#include "support/wait_until.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace asio = boost::asio;

// A door with a thread of its own, before a program with another.

namespace {

/// The real time, or some seconds later.
class shifted_clock final : public clock {
public:
    tick now() const override { return real_clock().now() + by.load(); }
    wall_time wall() const override { return real_clock().wall(); }
    std::unique_ptr<timer> make_timer(asio::any_io_executor ex) override { return real_clock().make_timer(ex); }

    std::atomic<tick::duration> by{0s};
};

/// A context with a thread.
struct place {
    asio::io_context io{1};
    asio::executor_work_guard<asio::io_context::executor_type> work = make_work_guard(io);
    std::thread thread;

    void begin()
    {
        thread = std::thread([this] { io.run(); });
    }
    void end()
    {
        work.reset();
        thread.join();
    }
};

struct open_door {
    shifted_clock time;
    std::shared_ptr<admin::board> board = std::make_shared<admin::board>(real_clock().now());
    place at;
    std::optional<admin::door> door;

    explicit open_door(admin::door_options options = {})
    {
        options.program = "a test";
        door.emplace(at.io.get_executor(), options, board, time);
        door->listen().value();
        at.begin();
    }
    ~open_door()
    {
        asio::post(at.io, [this] { door->close(); });
        at.end();
    }

    reply get(std::string const& path, std::string const& fields = {}) const
    {
        socket_client client(door->port());
        client.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n");
        return client.receive();
    }
    void until_it_says(std::string const& path, int status) const
    {
        wait_until([&] { return get(path).status == status; });
    }
};

/// A program that consumes a queue.
struct program {
    explicit program(std::shared_ptr<admin::board> to, std::function<outcome()> handle)
    {
        url = engine.create_queue(sqs::create_queue_request("orders"), real_clock().wall()).value().queue_url;
        engine.send_message(sqs::send_message_request(url, "m"), real_clock().wall()).value();
        consumer_options options;
        options.log = nullptr;
        options.wait_time = 1s;
        auto const seen = std::make_shared<admin::recorder>();
        options.observer = seen;
        auto const run = [handle](delivery&) -> asio::awaitable<outcome> {
            auto said = handle();
            co_return said;
        };
        it.emplace(io.get_executor(), api, url, run, options);
        watch = std::make_shared<admin::reporter>(io.get_executor(), std::move(to));
        watch->watch("orders", *it, seen);
        it->start();
        watch->begin();
        thread = std::thread([this] { io.run(); });
    }
    ~program() { end(); }

    void end()
    {
        if (!thread.joinable()) return;
        asio::co_spawn(io, it->drain(5s), asio::use_future).get();
        asio::co_spawn(io, watch->end(), asio::use_future).get();
        io.stop();
        thread.join();
    }

    broker::engine engine{broker::engine_options()};
    asio::io_context io{1};
    sim::local_api api{engine, real_clock(), io.get_executor()};
    std::string url;
    std::optional<consumer> it;
    std::shared_ptr<admin::reporter> watch;
    std::thread thread;
};

} // namespace

BOOST_AUTO_TEST_SUITE(doors)

BOOST_AUTO_TEST_CASE(a_program_that_has_not_begun_is_alive_and_not_ready)
{
    open_door d;
    BOOST_TEST(d.get("/livez").status == 200);
    BOOST_TEST(d.get("/readyz").status == 503);
    BOOST_TEST(d.get("/startupz").body == "starting\n");
    BOOST_TEST(d.get("/explain").json().at("queues").as_array().empty());
}

BOOST_AUTO_TEST_CASE(a_handler_that_blocks_the_strand_is_dead_until_it_ends)
{
    std::promise<void> entered, release;
    auto leave = release.get_future();
    open_door d;
    program p(d.board, [&] {
        entered.set_value();
        leave.wait();
        return ack();
    });
    entered.get_future().wait();
    d.time.by = 6s;
    auto const dead = d.get("/livez");
    BOOST_TEST(dead.status == 503);
    BOOST_TEST(dead.body.find("has not answered for") != std::string::npos);
    BOOST_TEST(d.get("/readyz").status == 503);
    d.time.by = 0s;
    release.set_value();
    d.until_it_says("/readyz", 200);
    BOOST_TEST(d.get("/livez").status == 200);
    BOOST_TEST(d.get("/startupz").status == 200);
}

BOOST_AUTO_TEST_CASE(a_program_at_work_is_shown)
{
    open_door d;
    program p(d.board, [] { return retry_after(1h); });
    d.until_it_says("/readyz", 200);
    auto const at = [&] { return d.get("/explain").json().at("queues").as_array()[0].as_object(); };
    wait_until([&] { return at().at("counts").at("retried").as_int64() == 1; });
    auto const q = at();
    BOOST_TEST(q.at("name").as_string() == "orders");
    BOOST_TEST(q.at("troubles").as_array().size() == 1u);
    BOOST_TEST(d.get("/livez?verbose").body.find("orders: ready; moved") != std::string::npos);
    p.end();
    BOOST_TEST(d.get("/livez").body == "ended\n");
    BOOST_TEST(d.get("/readyz").status == 503);
}

BOOST_AUTO_TEST_CASE(events_are_pictures_one_after_the_other)
{
    open_door d;
    socket_client client(d.door->port());
    client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    auto const head = client.wait_for("\r\n\r\n");
    BOOST_TEST(head.find("Content-Type: text/event-stream\r\n") != head.npos);
    BOOST_TEST(client.wait_for("\n\n") == "retry: 2000\n\n");
    for (int i = 0; i != 2; ++i) {
        auto const event = client.wait_for("\n\n");
        BOOST_TEST(event.starts_with("data: {"));
        boost::json::parse(event.substr(6));
    }
}

BOOST_AUTO_TEST_CASE(the_page_comes_with_its_policy_and_metrics_where_there_are_any)
{
    open_door without;
    auto const page = without.get("/");
    BOOST_TEST(page.body == admin::page());
    BOOST_TEST(page.fields.at("content-security-policy") == admin::page_policy());
    BOOST_TEST(page.fields.at("content-type") == "text/html; charset=utf-8");
    BOOST_TEST(without.get("/metrics").status == 404);
    BOOST_TEST(without.get("/other").status == 404);

    admin::door_options options;
    options.metrics = [] { return "quern_up 1\n"; };
    open_door with(options);
    BOOST_TEST(with.get("/metrics").body == "quern_up 1\n");
    BOOST_TEST(with.get("/metrics").fields.at("content-type") == "text/plain; version=0.0.4; charset=utf-8");
}

BOOST_AUTO_TEST_CASE(an_autoscaler_hears_503_while_the_number_of_processes_is_not_known)
{
    BOOST_TEST(open_door().get("/wanted").status == 404);
    admin::door_options options;
    std::atomic<bool> is_known = false;
    options.wanted = [&is_known] {
        return is_known ? admin::wanted_processes{3, "many wait"} : admin::wanted_processes{};
    };
    open_door door(options);
    auto const unknown = door.get("/wanted");
    BOOST_TEST(unknown.status == 503);
    BOOST_TEST(unknown.body == R"({"text":"not known yet"})");
    is_known = true;
    auto const known = door.get("/wanted");
    BOOST_TEST(known.status == 200);
    BOOST_TEST(known.body == R"({"wanted_replicas":3,"text":"many wait"})");
}

BOOST_AUTO_TEST_CASE(scrapers_get_the_form_of_metrics_that_they_would_rather_have)
{
    admin::door_options options;
    options.metrics = [] { return "quern_up 1\n"; };
    open_door plain(options);
    options.openmetrics = [] { return "quern_up 1.0\n# EOF\n"; };
    open_door both(options);

    std::string const wish = "Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5\r\n";
    auto const said = both.get("/metrics", wish);
    BOOST_TEST(said.body == "quern_up 1.0\n# EOF\n");
    BOOST_TEST(said.fields.at("content-type") == "application/openmetrics-text; version=1.0.0; charset=utf-8");
    BOOST_TEST(both.get("/metrics", "Accept: */*\r\n").body == "quern_up 1\n");
    BOOST_TEST(both.get("/metrics").body == "quern_up 1\n");
    BOOST_TEST(plain.get("/metrics", wish).body == "quern_up 1\n");
}

BOOST_AUTO_TEST_SUITE_END()
