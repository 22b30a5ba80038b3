#include <quern/net/client.hpp>
#include <quern/net/detail/connect_race.hpp>
#include <quern/net/detail/connection.hpp>

#include "support/certificate.hpp"
#include "support/loopback.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/test/unit_test.hpp>

#include <dlfcn.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cstdlib>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <vector>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace quern::net::detail;
using namespace std::chrono_literals;
using asio::ip::tcp;

namespace {

/// The look-up of "slow.test" waits for this.
std::binary_semaphore slow_answer{0};

} // namespace

/// The system's, but for some names: "slow.test" has no address, and that takes long; "two.test" has 127.0.0.1, and
/// then 127.0.0.2; names under "localhost" are not known.
extern "C" int getaddrinfo(char const* node, char const* service, addrinfo const* hints, addrinfo** found)
{
    using look_up = int(char const*, char const*, addrinfo const*, addrinfo**);
    auto* const real = reinterpret_cast<look_up*>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    std::string_view const name(node ? node : "");
    if (name == "slow.test") {
        slow_answer.acquire();
        return EAI_NONAME;
    }
    if (name.ends_with(".localhost") || name.ends_with(".LOCALHOST")) return EAI_NONAME;
    if (name != "two.test") return real(node, service, hints, found);
    auto const failed = real("127.0.0.1", service, hints, found);
    return failed != 0 ? failed : real("127.0.0.2", service, hints, &(*found)->ai_next);
}

namespace {

/// A port where nobody picks up: its queue of connections is full, so the kernel answers no more.
class silent_port {
public:
    explicit silent_port(asio::io_context& io) : acceptor_(io)
    {
        acceptor_.open(tcp::v4());
        acceptor_.bind({asio::ip::address_v4::loopback(), 0});
        acceptor_.listen(0);
        for (int i = 0; i < 4; ++i) { // Linux takes one or two beyond the backlog
            auto& caller = callers_.emplace_back(io);
            caller.open(tcp::v4());
            caller.native_non_blocking(true);
            auto const here = address();
            ::connect(caller.native_handle(), here.data(), static_cast<socklen_t>(here.size()));
        }
    }

    tcp::endpoint address() const { return acceptor_.local_endpoint(); }

private:
    tcp::acceptor acceptor_;
    std::vector<tcp::socket> callers_;
};

/// A port where nobody lives.
tcp::endpoint dead_port(asio::io_context& io)
{
    tcp::acceptor const brief(io, {asio::ip::address_v4::loopback(), 0});
    return brief.local_endpoint();
}

net::request get(std::chrono::milliseconds timeout = 10s)
{
    net::request ask("POST / HTTP/1.1\r\nhost: x\r\n\r\n");
    ask.timeout = timeout;
    return ask;
}

/// A name with two addresses, of which the second is good, and the first has a listener.
struct two_addresses {
    asio::io_context io;
    loopback first{io};
    tcp::acceptor second{io, {asio::ip::make_address("127.0.0.2"), first.port()}};
    certificate shown{"two.test"};
    asio::ssl::context tls = shown.server();
    net::client_options options;
    std::string const place = "two.test:" + std::to_string(first.port());

    two_addresses() { options.ca_bundle = shown.save(std::string(std::getenv("QUERN_TMP_DIR")) + "/two.pem"); }

    /// How it ends at the first address.
    failure failed(net::client& c, std::chrono::milliseconds timeout = 10s)
    {
        auto const got = run(io, c.exchange(get(timeout)));
        BOOST_REQUIRE(got.has_error());
        return got.error();
    }

    void answers_next(net::client& c)
    {
        auto const got = run(io, c.exchange(get()));
        BOOST_TEST(got.has_value(), (got ? "" : describe(got.error())));
    }

    asio::awaitable<void> answer()
    {
        auto socket = co_await second.async_accept(asio::use_awaitable);
        co_await read_request(socket);
        co_await say(socket, http_reply("here"));
    }

    asio::awaitable<void> answer_over_tls()
    {
        asio::ssl::stream<loopback::socket> stream(co_await second.async_accept(asio::use_awaitable), tls);
        co_await stream.async_handshake(asio::ssl::stream_base::server, asio::use_awaitable);
        co_await read_request(stream);
        co_await say(stream, http_reply("here"));
    }

    /// Takes a connection, and a request with it where it is to wait for one.
    asio::awaitable<void> hang_up(bool has_read)
    {
        auto socket = co_await first.accept();
        if (has_read) co_await read_request(socket);
    }
};

struct racing {
    asio::io_context io;
    tcp::acceptor good{io, {asio::ip::address_v4::loopback(), 0}};
    tcp::socket won{io};

    std::shared_ptr<connect_race> race(tcp_addresses addresses, std::chrono::milliseconds limit = 40ms)
    {
        return std::make_shared<connect_race>(
            io.get_executor(), std::move(addresses), std::chrono::steady_clock::now() + limit);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(connecting, racing)

BOOST_AUTO_TEST_CASE(an_address_that_refuses_costs_nothing)
{
    BOOST_TEST(!run(io, race({dead_port(io), good.local_endpoint()})->run(won)));
    BOOST_TEST(won.remote_endpoint() == good.local_endpoint());
}

// The addresses of a name were tried one after the other: one dead host among them, and every connection of the next
// 30 seconds used up its whole deadline waiting for it.
BOOST_AUTO_TEST_CASE(an_address_that_is_silent_is_overtaken)
{
    silent_port const silent(io);
    BOOST_TEST(!run(io, race({silent.address(), good.local_endpoint()})->run(won)));
    BOOST_TEST(won.remote_endpoint() == good.local_endpoint());
}

BOOST_AUTO_TEST_CASE(when_all_refuse_the_last_one_says_why)
{
    auto const ec = run(io, race({dead_port(io), dead_port(io)})->run(won));
    BOOST_TEST(ec == asio::error::connection_refused);
    BOOST_TEST(!won.is_open());
    BOOST_TEST(run(io, race({})->run(won)) == asio::error::host_not_found);
}

BOOST_AUTO_TEST_CASE(it_can_be_stopped)
{
    silent_port const silent(io);
    auto const hopeless = race({silent.address()});
    asio::post(io, [&] { hopeless->stop(); });
    BOOST_TEST(run(io, hopeless->run(won)) == asio::error::operation_aborted);
}

BOOST_AUTO_TEST_CASE(it_can_be_cancelled)
{
    silent_port const silent(io);
    auto const hopeless = race({silent.address()});
    asio::cancellation_signal signal;
    boost::system::error_code ended;
    auto const done = [&](std::exception_ptr, boost::system::error_code ec) { ended = ec; };
    asio::co_spawn(io, hopeless->run(won), asio::bind_cancellation_slot(signal.slot(), done));
    asio::post(io, [&] { signal.emit(asio::cancellation_type::terminal); });
    io.run();
    BOOST_TEST(ended == asio::error::operation_aborted);
}

// Cancelled in the turn in which an address had just refused, the race went on without its connection, and with it
// run().
BOOST_AUTO_TEST_CASE(whenever_a_connection_is_cancelled_nothing_goes_on)
{
    silent_port const silent(io);
    auto const dead = dead_port(io);
    route way;
    way.peer = net::parse_endpoint("http://127.0.0.1").value();
    // From 1, since Asio of Boost 1.83 throws out of the context what is cancelled before it has begun.
    for (int turns = 1; turns < 13; ++turns) {
        asio::cancellation_signal signal;
        bool has_ended = false;
        auto const done = [&](std::exception_ptr) { has_ended = true; };
        auto const open = [&](std::optional<connection>& link) -> asio::awaitable<void> {
            struct gone { // with its request
                std::optional<connection>& link;
                ~gone() { link.reset(); }
            } const after{link};
            tcp_addresses const both{dead, silent.address()};
            auto const opened = co_await link->open(way, both);
            BOOST_TEST(!opened);
        };
        std::optional<connection> link(std::in_place, io.get_executor(), nullptr, 1024, 1024);
        link->deadline = std::chrono::steady_clock::now() + 1h;
        io.restart();
        auto cancellable = asio::bind_cancellation_slot(signal.slot(), done);
        asio::co_spawn(io, open(link), std::move(cancellable)); // coroutine-ok: io ends it before `open` is gone
        for (int i = 0; i < turns; ++i)
            io.poll_one();
        signal.emit(asio::cancellation_type::terminal);
        io.poll();
        BOOST_TEST_CONTEXT("after " << turns << " turns")
        {
            BOOST_TEST(has_ended);
            BOOST_TEST(io.stopped());
        }
    }
}

// "localhost" is ::1 and 127.0.0.1 on most machines; this server has the latter only. The others nobody knows, as
// without /etc/hosts in a small image.
BOOST_AUTO_TEST_CASE(a_name_with_several_addresses_is_reached_at_one_of_them)
{
    for (auto const* const name : {"localhost", "orders.localhost", "a.b.LOCALHOST"}) {
        loopback server(io);
        auto part = [](loopback& s) -> asio::awaitable<void> {
            auto socket = co_await s.accept();
            co_await read_request(socket);
            co_await say(socket, http_reply("here"));
        };
        play(io, part(server));
        auto const url = std::string("http://") + name + ':' + std::to_string(server.port());
        net::client c(io.get_executor(), net::parse_endpoint(url).value());
        auto const got = run(io, c.exchange(net::request("POST / HTTP/1.1\r\nhost: x\r\n\r\n")));
        BOOST_TEST(got.value().body == "here", name);
    }
}

// It was "timed out", after which a request may have been carried out.
BOOST_AUTO_TEST_CASE(a_connect_that_takes_too_long_has_failed_and_says_so)
{
    silent_port const silent(io);
    auto const place = "127.0.0.1:" + std::to_string(silent.address().port());
    net::client c(io.get_executor(), net::parse_endpoint("http://" + place).value());
    auto const got = run(io, c.exchange(get(20ms)));
    BOOST_REQUIRE(got.has_error());
    BOOST_TEST(got.error().code == make_error_code(errc::connect_failed));
    BOOST_TEST(got.error().retryable);
    BOOST_TEST(got.error().message == "connect to " + place + ": took too long");
}

BOOST_AUTO_TEST_CASE(so_has_a_look_up)
{
    struct answered_in_the_end {
        ~answered_in_the_end() { slow_answer.release(); }
    };
    net::client c(io.get_executor(), net::parse_endpoint("http://slow.test").value());
    answered_in_the_end const after;
    auto const got = run(io, c.exchange(get(20ms)));
    BOOST_REQUIRE(got.has_error());
    BOOST_TEST(got.error().code == make_error_code(errc::connect_failed));
    BOOST_TEST(got.error().retryable);
    BOOST_TEST(got.error().message == "look-up of slow.test takes too long");
}

BOOST_AUTO_TEST_SUITE_END()

// Every attempt went to the first address again, for as long as it took connections.
BOOST_FIXTURE_TEST_SUITE(connecting_to_one_of_two, two_addresses)

BOOST_AUTO_TEST_CASE(an_address_that_hangs_up_on_a_request_is_tried_last)
{
    net::client c(io.get_executor(), net::parse_endpoint("http://" + place).value());
    play(io, hang_up(true));
    play(io, answer());
    BOOST_TEST(failed(c).code == make_error_code(errc::connection_lost));
    answers_next(c);
}

BOOST_AUTO_TEST_CASE(so_is_one_that_says_nothing)
{
    net::client c(io.get_executor(), net::parse_endpoint("http://" + place).value());
    play(io, answer());
    BOOST_TEST(failed(c, 250ms).code == make_error_code(errc::timed_out)); // nobody has even accepted
    answers_next(c);
}

BOOST_AUTO_TEST_CASE(so_is_one_that_hangs_up_on_a_handshake)
{
    net::client c(io.get_executor(), net::parse_endpoint("https://" + place).value(), options);
    play(io, hang_up(false));
    play(io, answer_over_tls());
    BOOST_TEST(failed(c).code == make_error_code(errc::tls_failed));
    answers_next(c);
}

BOOST_AUTO_TEST_CASE(so_is_one_that_never_shakes_hands)
{
    net::client c(io.get_executor(), net::parse_endpoint("https://" + place).value(), options);
    play(io, answer_over_tls());
    auto const late = failed(c, 250ms);
    BOOST_TEST(late.code == make_error_code(errc::connect_failed));
    BOOST_TEST(late.message == "TLS handshake with " + place + ": took too long");
    answers_next(c);
}

BOOST_AUTO_TEST_SUITE_END()
