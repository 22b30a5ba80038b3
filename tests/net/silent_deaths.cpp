#include <quern/net/client.hpp>

#include "support/loopback.hpp"

#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

// A load balancer failed over, or a NAT lost its table: connections that nobody will answer on, and nothing that says
// so.

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t before = 3;

/// The first three connections answer once, and never look at what comes next.
struct fail_over {
    asio::io_context io;
    loopback server{io};
    net::client client{io.get_executor(), net::parse_endpoint(server.url()).value()};
    std::vector<loopback::socket> dead;
    std::size_t fresh = 0; // connections since
    std::size_t under_way = 0;

    fail_over()
    {
        play(io, serve());
        send("/", net::lane::data);
        at_once({"/", "/"});
    }

    void send(std::string const& path, net::lane via)
    {
        net::request what("POST " + path + " HTTP/1.1\r\nhost: x\r\n\r\n");
        what.via = via;
        what.timeout = path == "/silence" ? 50ms : 10s;
        what.repeatable = true;
        ++under_way;
        play(io, sent(std::move(what)));
    }

    asio::awaitable<void> sent(net::request what)
    {
        auto const answered = !what.text.starts_with("POST /silence");
        auto const got = co_await client.exchange(std::move(what));
        BOOST_TEST(got.has_value() == answered);
        --under_way;
    }

    void at_once(std::vector<std::string> const& paths, net::lane via = net::lane::control)
    {
        for (auto const& path : paths)
            send(path, via);
        while (under_way != 0)
            io.run_one();
    }

    asio::awaitable<void> serve()
    {
        while (dead.size() != before) {
            auto socket = co_await server.accept();
            dead.push_back(std::move(socket));
        }
        for (auto& each : dead)
            co_await read_request(each);
        for (auto& each : dead)
            co_await say(each, http_reply("alive"));
        for (;;) {
            auto socket = co_await server.accept();
            ++fresh;
            play(io, answer(std::move(socket)));
        }
    }

    static asio::awaitable<void> answer(loopback::socket socket)
    {
        try {
            for (;;) {
                auto const request = co_await read_request(socket);
                if (!request.starts_with("POST /silence")) co_await say(socket, http_reply("fresh"));
            }
        } catch (boost::system::system_error const& e) {
            BOOST_TEST(e.code() == asio::error::eof); // the client has closed it
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(silent_deaths, fail_over)

// Each dead connection cost a request its timeout: both attempts at an extension met one, and the lease was lost.
BOOST_AUTO_TEST_CASE(one_request_without_an_answer_speaks_for_all_that_were_idle)
{
    at_once({"/silence"});
    at_once({"/"}, net::lane::control);
    at_once({"/"}, net::lane::data);
    BOOST_TEST(fresh == 2u);
    BOOST_TEST(client.counters().connects == before + 2);
}

BOOST_AUTO_TEST_CASE(so_does_one_that_the_server_has_closed)
{
    dead.clear();
    at_once({"/"});
    at_once({"/", "/"});
    BOOST_TEST(client.counters().replays <= 1u);
    BOOST_TEST(fresh == 2u);
}

BOOST_AUTO_TEST_CASE(what_was_heard_of_meanwhile_is_kept)
{
    at_once({"/silence"});
    at_once({"/", "/"});
    BOOST_TEST(fresh == 2u);
    at_once({"/silence", "/"});
    at_once({"/"});
    BOOST_TEST(fresh == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
