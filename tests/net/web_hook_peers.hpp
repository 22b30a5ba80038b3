#pragma once

#include <quern/net/web_hook_client.hpp>

#include "support/loopback.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <ostream>
#include <string>

namespace quern::net {

inline std::ostream& operator<<(std::ostream& to, web_hook_fault fault)
{
    return to << name(fault);
}

} // namespace quern::net

namespace quern::test {

using net::web_hook_fault;

/// A web service of which every test writes the words, and a client that is made when it is first used.
struct web_hook_peers {
    using socket = loopback::socket;
    static constexpr auto as_values = boost::asio::as_tuple(boost::asio::use_awaitable);

    boost::asio::io_context io;
    loopback server{io};
    net::web_hook_options options;
    std::optional<net::web_hook_client> made;

    net::web_hook_client& client()
    {
        if (!made) made.emplace(io.get_executor(), options);
        return *made;
    }

    net::web_hook_request ask(std::string const& path = "/hook") const { return ask_url(server.url() + path); }

    static net::web_hook_request ask_url(std::string const& url)
    {
        net::web_hook_request out(net::parse_url(url).value());
        out.timeout = std::chrono::seconds(20);
        out.body = "{}";
        return out;
    }

    net::web_hook_result send(net::web_hook_request request) { return run(io, client().send(std::move(request))); }

    net::web_hook_error error_of(net::web_hook_request request)
    {
        auto const got = send(std::move(request));
        BOOST_REQUIRE(got.has_error());
        BOOST_TEST_MESSAGE(describe(got.error().why));
        return got.error();
    }

    /// Answers requests on one connection with these texts, one after another, and hangs up.
    boost::asio::awaitable<void> answer_with(std::vector<std::string> texts)
    {
        auto stream = co_await server.accept();
        for (auto& text : texts) {
            heard.push_back(co_await read_request(stream));
            co_await say(stream, std::move(text));
        }
    }

    /// The same, and then holds still until the client hangs up.
    boost::asio::awaitable<void> answer_and_hold(std::vector<std::string> texts)
    {
        auto stream = co_await server.accept();
        for (auto& text : texts) {
            heard.push_back(co_await read_request(stream));
            co_await say(stream, std::move(text));
        }
        co_await until_closed(stream);
    }

    /// Takes one request, and no more notice of it.
    boost::asio::awaitable<void> hold()
    {
        auto stream = co_await server.accept();
        heard.push_back(co_await read_request(stream));
        co_await until_closed(stream);
    }

    template <class Stream>
    boost::asio::awaitable<void> until_closed(Stream& stream)
    {
        char some[4096];
        for (;;) {
            auto const [ec, size] = co_await stream.async_read_some(boost::asio::buffer(some), as_values);
            if (ec) break;
        }
        ++hung_up;
    }

    /// Runs until the client has hung up on so many connections of hold() and answer_and_hold().
    void wait_for_hang_ups(int count)
    {
        io.restart();
        while (hung_up < count)
            BOOST_REQUIRE(io.run_one() != 0u);
    }

    std::vector<std::string> heard; ///< the requests
    int hung_up = 0;
};

} // namespace quern::test
