#include <quern/net/detail/listener.hpp>

#include "broker/server_clock.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <vector>

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

/// No descriptor more than there are.
class no_more_descriptors {
public:
    no_more_descriptors()
    {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        auto none = before_;
        none.rlim_cur = 0;
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    ~no_more_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

struct place {
    standing_clock time;
    asio::io_context io{1};
    std::vector<tcp::socket> taken;
    int looks = 0;
    net::detail::listener it{io.get_executor(), time};

    void begin(std::string const& address)
    {
        it.listen(address, 0).value();
        net::detail::listener::host host;
        host.take = [this](tcp::socket s) { taken.push_back(std::move(s)); };
        host.look = [this](tick) {
            ++looks;
            return !taken.empty();
        };
        host.look_every = 1s;
        it.begin(std::move(host));
        turn();
    }
    void turn()
    {
        io.restart();
        io.poll();
    }
    void advance(tick::duration by)
    {
        time.advance(by);
        turn();
    }
    /// Connects, and waits until the other side has a byte: from then on accept() finds the connection.
    void connect(tcp::socket& from)
    {
        from.connect({asio::ip::address_v4::loopback(), it.port()});
        asio::write(from, asio::buffer("x", 1));
        int unseen = 1;
        for (auto const end = std::chrono::steady_clock::now() + 10s; unseen != 0;) {
            BOOST_REQUIRE(std::chrono::steady_clock::now() < end);
            BOOST_REQUIRE(::ioctl(from.native_handle(), SIOCOUTQ, &unseen) == 0);
        }
    }
    ~place()
    {
        it.close();
        turn();
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(listeners)

BOOST_AUTO_TEST_CASE(without_descriptors_it_waits_and_then_accepts_who_has_waited)
{
    place p;
    p.begin("127.0.0.1");
    tcp::socket client(p.io, tcp::v4());
    {
        no_more_descriptors const none;
        p.connect(client);
        p.turn();
        BOOST_TEST(p.taken.empty());
    }
    p.turn();
    BOOST_TEST(p.taken.empty()); // it does not try without a pause, which would be a loop
    p.advance(100ms);
    BOOST_TEST(p.taken.size() == 1u);
}

BOOST_AUTO_TEST_CASE(deadlines_are_looked_at_while_there_is_somebody)
{
    place p;
    p.begin("127.0.0.1");
    p.advance(1h);
    BOOST_TEST(p.looks == 0);
    tcp::socket client(p.io, tcp::v4());
    p.connect(client);
    p.turn();
    BOOST_TEST(p.looks == 1);
    p.advance(1s);
    BOOST_TEST(p.looks == 2);
    p.taken.clear();
    p.advance(1s);
    BOOST_TEST(p.looks == 3);
    p.advance(1h);
    BOOST_TEST(p.looks == 3);
}

BOOST_AUTO_TEST_CASE(after_the_last_accept_deadlines_are_kept)
{
    place p;
    p.begin("127.0.0.1");
    tcp::socket client(p.io, tcp::v4()), late(p.io, tcp::v4());
    p.connect(client);
    p.turn();
    p.it.stop_accepting();
    boost::system::error_code ec;
    late.connect({asio::ip::address_v4::loopback(), p.it.port()}, ec);
    BOOST_TEST(ec == asio::error::connection_refused);
    p.advance(1s);
    BOOST_TEST(p.looks == 2);
}

BOOST_AUTO_TEST_CASE(the_address_of_all_is_one_for_ipv4_too)
{
    place p, first;
    if (!first.it.listen("::", 0)) {
        BOOST_TEST_MESSAGE("skipped: this machine has no IPv6");
        return;
    }
    p.begin("::");
    tcp::socket client(p.io, tcp::v4());
    p.connect(client);
    p.turn();
    BOOST_TEST(p.taken.size() == 1u);
    BOOST_TEST(p.it.origin("http") == "http://[::]:" + std::to_string(p.it.port()));
}

BOOST_AUTO_TEST_CASE(an_address_that_is_taken_is_named)
{
    place p, other;
    p.begin("127.0.0.1");
    auto const refused = other.it.listen("127.0.0.1", p.it.port());
    BOOST_TEST(refused.error().message.find("cannot listen on 127.0.0.1:" + std::to_string(p.it.port())) == 0u);
    BOOST_TEST(!other.it.listen("192.0.2.1", 0));
}

BOOST_AUTO_TEST_SUITE_END()
